// SPDX-License-Identifier: Apache-2.0
//
// Instructions of the controller's step and of a mailbox, on a board that counts them (`consort board
// count`).
//
// A board started with instruction counting has a clock that advances by a nanosecond an instruction. Each
// operation is called through a pointer, `calls` times; what the loop and the call take is measured the same
// way and taken off by the reader. Results: for each operation, in the order of `operations`, the nanoseconds
// of all calls; behind them the master's cycle.
#include <cstdint>

#include "consort/bare/offload.hpp"
#include "consort/bare/program.hpp"
#include "consort/icc.hpp"
#include "examples/servo/dense.hpp"
#include "examples/servo/step.hpp"

namespace {

using namespace consort::bare;

constexpr std::uint32_t calls = 1000;

servo::StateF32 state_f32;
servo::StateQ31 state_q31;
servo::DenseStateF32 state_dense;
float number = 0;

void empty() {
    asm volatile("" ::: "memory");
}

void step_f32() {
    servo::OutF32 out;
    number += 0.001F;
    servo::step_f32({number, 0}, state_f32, out);
    asm volatile("" ::"r"(&out) : "memory");
}

void step_q31() {
    servo::OutQ31 out;
    servo::step_q31({1000, 0}, state_q31, out);
    asm volatile("" ::"r"(&out) : "memory");
}

void step_dense() {
    servo::OutF32 out;
    servo::dense_step_f32({number, 0}, state_dense, out);
    asm volatile("" ::"r"(&out) : "memory");
}

template <std::uint32_t N>
struct Payload {
    std::uint32_t words[N / 4];
};

// One message written and read by the same core.
template <std::uint32_t N>
void mailbox() {
    using Box = consort::Mailbox<Payload<N>, consort::access::SystemBarrier>;
    static typename Box::Shared* shared = [] {
        auto* place = reinterpret_cast<typename Box::Shared*>(window() + 0x10000);
        auto* words = reinterpret_cast<volatile std::uint32_t*>(place);
        for (std::uint32_t i = 0; i < sizeof(typename Box::Shared) / 4; ++i) {
            words[i] = 0;
        }
        return place;
    }();
    static typename Box::Writer writer(*shared);
    static typename Box::Reader reader(*shared);
    // A copy of what is only 4-byte aligned takes up to twice the instructions: not by the linker's choice.
    alignas(8) static Payload<N> message{};
    if (writer.try_write(message) != consort::Status::ok || reader.try_read(message) != consort::Status::ok) {
        __builtin_trap();
    }
}

using Servo = consort::offload::Task<&servo::step_f32>;

// Makes the channels of one task and attaches to them. Apart from what is timed, which the compiler would
// otherwise arrange around it. Null: it does not work.
[[gnu::noinline]] Control::Shared* attach(ControlBlock& block, Channels<Servo>& channels) {
    constexpr std::uint32_t place = 0x10000;
    constexpr std::uint32_t bytes = 0x10000;
    auto* memory = window() + place;
    for (std::uint32_t at = 0; at < bytes; at += 4) {
        *reinterpret_cast<volatile std::uint32_t*>(memory + at) = 0;
    }
    RunRegionMaker<Servo> maker(memory, bytes, 1);
    maker.worker("control");
    maker.task<Servo>("servo");
    if (maker.publish().reason != consort::Reason::none) {
        return nullptr;
    }
    RunRegion region(memory, bytes, block);
    channels = region.task<Servo>("servo");
    auto* shared = region.worker("control");
    return region.refusal().reason == consort::Reason::none ? shared : nullptr;
}

// The master's part of an offloaded job, begin and finish, with the answer already there: both sides live on
// this core, and only the master's is timed. Ticks of `calls` jobs; -1: the channels do not work.
std::int64_t master_cycle() {
    using Job = Servo;
    ControlBlock block(window() + this_place * ControlBlock::bytes);
    static Channels<Job> channels;
    auto* const shared = attach(block, channels);
    if (shared == nullptr) {
        return -1;
    }
    consort::offload::Server<Job, ThisPort, Access> server(channels);
    Control::Worker worker(*shared);
    Control::Master control(*shared);
    consort::offload::Master<Job, ThisPort, Access> master(channels, control,
                                                           consort::offload::OnMiss::hold_last_output);
    const auto pair = [] {
        const consort::Ticks begin = consort::timestamp<ThisPort>();
        return consort::timestamp<ThisPort>() - begin;
    };
    std::int64_t total = 0;
    Job::Out out{};
    for (std::uint32_t i = 0; i <= calls; ++i) {
        const consort::Ticks a = consort::timestamp<ThisPort>();
        master.begin({number, 0}, false);
        const consort::Ticks b = consort::timestamp<ThisPort>();
        if (server.poll(0, worker, [](const consort::offload::ServedJob&) {}) != consort::Status::ok) {
            return -1;
        }
        const consort::Ticks c = consort::timestamp<ThisPort>();
        const auto& report = master.finish(out, ~consort::Ticks{0}, [] { return true; });
        const consort::Ticks d = consort::timestamp<ThisPort>();
        if (report.status != 0) {
            return -1;
        }
        // The first one sets things up.
        if (i > 0) {
            total += static_cast<std::int64_t>(b - a + d - c - pair() - pair());
        }
    }
    return total;
}

using Operation = void (*)();
constexpr Operation operations[] = {&empty,      &step_f32,    &step_q31,     &step_dense,
                                    &mailbox<8>, &mailbox<48>, &mailbox<256>, &mailbox<1024>};

}  // namespace

int consort_program(ControlBlock& block) noexcept {
    if (block.role() == 0) {
        return 0;
    }
    std::uint32_t result = 0;
    consort::Ticks empty_calls = 0;
    const auto report = [&](consort::Ticks ticks) {
        block.result(result++,
                     static_cast<std::uint32_t>(ticks * 1000000000U / ThisPort::ticks_per_second()));
    };
    for (const Operation operation : operations) {
        // The first call sets things up.
        operation();
        const consort::Ticks begin = consort::timestamp<ThisPort>();
        for (std::uint32_t i = 0; i < calls; ++i) {
            operation();
        }
        const consort::Ticks ticks = consort::timestamp<ThisPort>() - begin;
        if (operation == &empty) {
            empty_calls = ticks;
        }
        report(ticks);
    }
    const std::int64_t cycles = master_cycle();
    if (cycles < 0) {
        return fail(block, "an offloaded job went wrong");
    }
    // The reader takes the empty calls off of every result.
    report(empty_calls + static_cast<consort::Ticks>(cycles));
    return 0;
}
