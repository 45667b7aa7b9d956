// SPDX-License-Identifier: Apache-2.0
//
// Instantiates the whole target library for a core, with no hosted library below it. The object file is
// looked at, never run: its undefined symbols, its barriers, its sizes, and the table of layouts at its end.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "consort/icc.hpp"
#include "consort/offload.hpp"
#include "message.hpp"

namespace {

using consort::Status;
using cross::Message;
// With its length: a plain literal would need strlen, which no freestanding environment owes us.
using namespace std::string_view_literals;

// The form of a board's port; its counter and its cache operations are the board's.
volatile std::uint32_t counter;
struct Board {
    static consort::Ticks now() noexcept { return counter; }
    static consort::Ticks ticks_per_second() noexcept { return 1000000; }
    static void relax() noexcept { consort::isa::relax(); }
    static void clean(const void* begin, std::size_t bytes) noexcept {
        asm volatile("" : : "r"(begin), "r"(bytes) : "memory");
    }
    static void invalidate(const void* begin, std::size_t bytes) noexcept {
        asm volatile("" : : "r"(begin), "r"(bytes) : "memory");
    }
    static std::uint32_t core_id() noexcept { return 0; }
};
static_assert(consort::Port<Board>);

struct State {
    float integral;
};
struct Output {
    float torque[2];
};
void step(const Message& in, State& state, Output& out) noexcept {
    state.integral += in.setpoint[0];
    out = {{state.integral * in.gains[0].integral, in.setpoint[1] * in.gains[1].proportional}};
}
using Servo = consort::offload::Task<&step>;

template <class A>
using Box = consort::Mailbox<Message, A>;
template <class A>
using Call = consort::Duplex<Message, Message, A>;
// Small enough for one line both ways.
template <class A>
using SmallCall = consort::Duplex<std::uint64_t, std::uint32_t, A>;
template <class A>
using Latest = consort::Snapshot<Message, 2, A>;
template <class A>
using Double = consort::DoubleBuffer<Message, A>;
template <class A>
using Ring = consort::Queue<Message, 16, A>;

template <class A>
using Let = consort::Versions<Message, 3, A>;

template <class A>
Status make(void* memory, std::uint32_t bytes) noexcept {
    auto maker = consort::RegionMaker<A>::begin(memory, bytes, {});
    if (!maker.ok()) {
        return Status::peer_fault;
    }
    auto& region = maker.value();
    const bool good =
        region.template add<Box<A>>("box"sv).ok() && region.template add<Latest<A>>("latest"sv).ok() &&
        region.template add<Double<A>>("double"sv).ok() && region.template add<SmallCall<A>>("call"sv).ok() &&
        region.template add<Ring<A>>("ring"sv).ok() && region.template add<Let<A>>("let"sv).ok() &&
        region.publish().ok();
    region.close();
    return good ? Status::ok : Status::peer_fault;
}

template <class A>
Status open(void* memory, std::uint32_t bytes, char& first_of_member) noexcept {
    const auto region = consort::Region<A>::attach(memory, bytes);
    if (!region.ok()) {
        return Status::peer_fault;
    }
    const auto box = region.value().template open<Box<A>>("box"sv);
    first_of_member = box.refusal().member.text[0];
    return box.ok() ? Status::ok : Status::peer_fault;
}

template <class A>
Status serve(typename consort::WorkerControl<A>::Shared& control,
             const consort::offload::JobChannels<Servo, A>& channels) noexcept {
    consort::offload::Worker<Board, A, Servo> worker(control, channels);
    return worker.serve([](const consort::offload::ServedJob&) {});
}

template <class A>
std::uint32_t command(typename consort::WorkerControl<A>::Shared& shared,
                      const consort::offload::JobChannels<Servo, A>& channels, const Message& in,
                      Output& out) noexcept {
    typename consort::WorkerControl<A>::Master control(shared);
    consort::offload::Master<Servo, Board, A> master(channels, control,
                                                     consort::offload::OnMiss::local_fallback);
    master.begin(in, false);
    return master.finish(out, 1000, [] { return true; }).status;
}

}  // namespace

// The names of these functions are the rows of size.py: what a core pays for one operation, with the copy in
// it.
// Each function with its callees is what a core pays for one operation: size.py counts them.
#define PROBE_ONE(result, name, ...) extern "C" result name(__VA_ARGS__)
#define PROBE(policy, A)                                                                                  \
    PROBE_ONE(Status, mailbox_read_##policy, Box<A>::Reader& side, Message& m) {                          \
        return side.try_read(m);                                                                          \
    }                                                                                                     \
    PROBE_ONE(Status, mailbox_write_##policy, Box<A>::Writer& side, const Message& m) {                   \
        return side.try_write(m);                                                                         \
    }                                                                                                     \
    PROBE_ONE(Status, snapshot_read_##policy, Latest<A>::Reader& side, Message& m) {                      \
        return side.read(m);                                                                              \
    }                                                                                                     \
    PROBE_ONE(void, snapshot_update_##policy, Latest<A>::Writer& side, const Message& m) {                \
        side.update(m);                                                                                   \
    }                                                                                                     \
    PROBE_ONE(Status, double_buffer_read_##policy, Double<A>::Reader& side, Message& m) {                 \
        return side.read_latest(m);                                                                       \
    }                                                                                                     \
    PROBE_ONE(void, double_buffer_update_##policy, Double<A>::Writer& side, const Message& m) {           \
        side.update(m);                                                                                   \
    }                                                                                                     \
    PROBE_ONE(Status, versions_read_##policy, Let<A>::Reader& side, Message& m, consort::Ticks release) { \
        return side.read_as_of(m, release).status;                                                        \
    }                                                                                                     \
    PROBE_ONE(void, versions_publish_##policy, Let<A>::Writer& side, const Message& m,                    \
              consort::Ticks publication) {                                                               \
        side.publish(m, publication);                                                                     \
    }                                                                                                     \
    PROBE_ONE(Status, queue_read_##policy, Ring<A>::Reader& side, Message& m) {                           \
        return side.try_read(m);                                                                          \
    }                                                                                                     \
    PROBE_ONE(Status, queue_write_##policy, Ring<A>::Writer& side, const Message& m) {                    \
        return side.try_write(m);                                                                         \
    }                                                                                                     \
    PROBE_ONE(std::uint32_t, queue_read_batch_##policy, Ring<A>::Reader& side, Message* m,                \
              std::uint32_t count) {                                                                      \
        return side.read_batch(m, count);                                                                 \
    }                                                                                                     \
    PROBE_ONE(std::uint32_t, queue_write_batch_##policy, Ring<A>::Writer& side, const Message* m,         \
              std::uint32_t count) {                                                                      \
        return side.write_batch(m, count);                                                                \
    }                                                                                                     \
    PROBE_ONE(Status, mailbox_read_until_##policy, Box<A>::Reader& side, Message& m,                      \
              consort::Ticks deadline) {                                                                  \
        return side.read_until<Board>(m, deadline);                                                       \
    }                                                                                                     \
    PROBE_ONE(Status, mailbox_write_until_##policy, Box<A>::Writer& side, const Message& m,               \
              consort::Ticks deadline) {                                                                  \
        return side.write_until<Board>(m, deadline);                                                      \
    }                                                                                                     \
    PROBE_ONE(Status, duplex_call_##policy, Call<A>::Client& side, Message& m) {                          \
        const Status status = side.write(m);                                                              \
        return status == Status::ok ? side.read(m) : status;                                              \
    }                                                                                                     \
    PROBE_ONE(Status, region_make_##policy, void* memory, std::uint32_t bytes) {                          \
        return make<A>(memory, bytes);                                                                    \
    }                                                                                                     \
    PROBE_ONE(Status, region_open_##policy, void* memory, std::uint32_t bytes, char& c) {                 \
        return open<A>(memory, bytes, c);                                                                 \
    }                                                                                                     \
    PROBE_ONE(Status, offload_worker_##policy, consort::WorkerControl<A>::Shared& control,                \
              const consort::offload::JobChannels<Servo, A>& channels) {                                  \
        return serve<A>(control, channels);                                                               \
    }                                                                                                     \
    PROBE_ONE(std::uint32_t, offload_master_##policy, consort::WorkerControl<A>::Shared& control,         \
              const consort::offload::JobChannels<Servo, A>& channels, const Message& in, Output& out) {  \
        return command<A>(control, channels, in, out);                                                    \
    }

PROBE(coherent, consort::access::Coherent)
PROBE(system_barrier, consort::access::SystemBarrier)
PROBE(non_coherent, consort::access::NonCoherent<Board>)
PROBE(device, consort::access::Device)

// Facts on which both sides of a region must agree, as this compiler sees them.
struct Agreed {
    char what[60];
    std::uint32_t value;
};
template <class T>
constexpr std::uint32_t low = static_cast<std::uint32_t>(consort::Layout<T>::fingerprint);
template <class T>
constexpr std::uint32_t high = static_cast<std::uint32_t>(consort::Layout<T>::fingerprint >> 32U);

#define SIZE(...) \
    { "sizeof " #__VA_ARGS__, sizeof(__VA_ARGS__) }
#define OFFSET(T, member) \
    { "offset of " #T "." #member, offsetof(T, member) }
using consort::ObjectEntry;
using consort::RegionHeader;
using consort::detail::RegionMap;
using CoherentBox = Box<consort::access::Coherent>::Shared;
using CoherentLatest = Latest<consort::access::Coherent>::Shared;
using CoherentSmallLatest = consort::Snapshot<Output, 1>::Shared;
using CoherentCall = Call<consort::access::Coherent>::Shared;
using CoherentSmallCall = SmallCall<consort::access::Coherent>::Shared;
using CoherentDouble = Double<consort::access::Coherent>::Shared;
using CoherentRing = Ring<consort::access::Coherent>::Shared;
using CoherentLet = Let<consort::access::Coherent>::Shared;
using CoherentLetSlot = Let<consort::access::Coherent>::Slot;
using DeviceLet = Let<consort::access::Device>::Shared;
using DeviceBox = Box<consort::access::Device>::Shared;
using NonCoherentBox = Box<consort::access::NonCoherent<Board>>::Shared;
using NonCoherentSmallCall = SmallCall<consort::access::NonCoherent<Board>>::Shared;
using NonCoherentSmallLatest = consort::Snapshot<Output, 1, consort::access::NonCoherent<Board>>::Shared;
using DeviceRing = Ring<consort::access::Device>::Shared;
using Control = consort::WorkerControl<>::Shared;
using Request = consort::offload::Request<Message>;
using Response = consort::offload::Response<Output>;
using Checkpoint = consort::offload::Checkpoint<State>;

extern "C" [[gnu::used, gnu::section(".consort.layout")]] const Agreed consort_layout[] = {
    {"line_bytes", consort::line_bytes},
    SIZE(Message),
    OFFSET(Message, angle),
    OFFSET(Message, time),
    OFFSET(Message, valid),
    {"fingerprint of Message, low", low<Message>},
    {"fingerprint of Message, high", high<Message>},
    {"fingerprint of Request, low", low<Request>},
    {"fingerprint of Response, low", low<Response>},
    {"fingerprint of Checkpoint, low", low<Checkpoint>},
    SIZE(RegionHeader),
    OFFSET(RegionHeader, checksum),
    SIZE(ObjectEntry),
    OFFSET(ObjectEntry, fingerprint_high),
    {"RegionMap::state_offset", RegionMap::state_offset},
    {"RegionMap::objects_offset(16, 256)", RegionMap::objects_offset(16, 256)},
    SIZE(CoherentBox),
    OFFSET(CoherentBox, payload),
    OFFSET(CoherentBox, reader),
    OFFSET(CoherentBox, reader.epoch),
    SIZE(CoherentLatest),
    OFFSET(CoherentLatest, writer.current),
    OFFSET(CoherentLatest, readers),
    OFFSET(CoherentLatest, slots),
    SIZE(CoherentSmallLatest),
    OFFSET(CoherentSmallLatest, writer.copy.value),
    OFFSET(CoherentSmallLatest, slots),
    SIZE(CoherentCall),
    OFFSET(CoherentCall, server.payload),
    SIZE(CoherentSmallCall),
    OFFSET(CoherentSmallCall, client.payload),
    OFFSET(CoherentSmallCall, server),
    OFFSET(CoherentSmallCall, epochs),
    SIZE(CoherentDouble),
    OFFSET(CoherentDouble, buffers),
    SIZE(CoherentRing),
    OFFSET(CoherentRing, reader),
    OFFSET(CoherentRing, slots),
    OFFSET(CoherentRing, slots.at[1].sequence),
    SIZE(NonCoherentBox),
    OFFSET(NonCoherentBox, payload),
    OFFSET(NonCoherentBox, reader),
    SIZE(NonCoherentSmallCall),
    OFFSET(NonCoherentSmallCall, server),
    SIZE(NonCoherentSmallLatest),
    OFFSET(NonCoherentSmallLatest, slots),
    SIZE(CoherentLet),
    OFFSET(CoherentLet, slots),
    OFFSET(CoherentLet, writer.epoch),
    OFFSET(CoherentLetSlot, value),
    {"Versions<3>::positions", Let<consort::access::Coherent>::positions},
    SIZE(DeviceLet),
    SIZE(DeviceBox),
    SIZE(DeviceRing),
    SIZE(Control),
    OFFSET(Control, worker.epoch),
};
