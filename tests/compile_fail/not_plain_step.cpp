// SPDX-License-Identifier: Apache-2.0
// expect: must be trivially copyable: no virtual functions
#include <string>

#include "consort/icc.hpp"
#include "consort/offload.hpp"

struct In {
    float reference;
#ifndef MENDED
    std::string name;
#endif
};
struct State {
    float integral;
};
struct Out {
    float torque;
};
void step(const In& in, State& state, Out& out) noexcept;

struct Board {
    static consort::Ticks now() noexcept { return 0; }
    static consort::Ticks ticks_per_second() noexcept { return 1; }
    static void relax() noexcept {}
    static void clean(const void*, std::size_t) noexcept {}
    static void invalidate(const void*, std::size_t) noexcept {}
    static std::uint32_t core_id() noexcept { return 0; }
};
using Access = consort::access::Coherent;
using Servo = consort::offload::Task<&step>;
using Channels = consort::offload::JobChannels<Servo, Access>;

// Made, served and commanded: In stands in a request that travels, and the message names In.
bool make(consort::RegionMaker<>& maker) {
    return maker.add<Channels::Mail>("mail").ok() && maker.add<Channels::StateBox>("state").ok();
}

consort::Status serve(consort::WorkerControl<Access>::Shared& control, const Channels& channels) {
    consort::offload::Worker<Board, Access, Servo> worker(control, channels);
    return worker.serve([](const consort::offload::ServedJob&) {});
}

std::uint32_t command(consort::WorkerControl<Access>::Shared& shared, const Channels& channels, const In& in,
                      Out& out) {
    consort::WorkerControl<Access>::Master control(shared);
    consort::offload::Master<Servo, Board, Access> master(channels, control,
                                                          consort::offload::OnMiss::local_fallback);
    master.begin(in, false);
    return master.finish(out, 1000, [] { return true; }).status;
}
