// SPDX-License-Identifier: Apache-2.0
//
// How long a message takes through a mailbox in shared memory, from one processor to another that waits for
// it.
//
// A message carries the time of its writing; its reader takes the time when it holds the whole of it. Both
// read the one counter that the processors share. Where their readings differ, a message may seem to arrive
// before it was written: such are counted (`inversions`) and are in no figure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "consort/icc/mailbox.hpp"
#include "consort/linux/json.hpp"
#include "consort/linux/port.hpp"
#include "consort/linux/shared_memory.hpp"
#include "probe_thread.hpp"

namespace consort::linux_port {

template <std::uint32_t N>
struct ProbeMessage {
    std::uint64_t written;
    unsigned char rest[N - 8];
};
template <>
struct ProbeMessage<8> {
    std::uint64_t written;
};

template <std::uint32_t N>
json::Value probe_exchange(int first, int second, const ProbeOptions& options) {
    using Message = ProbeMessage<N>;
    using Box = Mailbox<Message>;
    struct Shared {
        typename Box::Shared there;
        typename Box::Shared back;
    };
    const SharedMemory memory = SharedMemory::anonymous("consort-probe-mailboxes", sizeof(Shared));
    auto* shared = ::new (memory.base()) Shared{};
    Series there(options.samples);
    Series back(options.samples);
    Series round_trip(options.samples);
    std::uint64_t inversions[2] = {};
    std::uint64_t lost = 0;

    const auto arrived = [](std::uint64_t written, Series& series, std::uint64_t& wrong) {
        const std::uint64_t now = Clock::end();
        if (now < written) {
            ++wrong;
        } else {
            series.add(now - written);
        }
        return now;
    };
    // Untimed exchanges before the first timed one: code and pages are then there on both sides.
    const std::size_t warm_up = options.samples < 64 ? options.samples : 64;
    const std::size_t all = warm_up + options.samples;
    const auto caller = [&] {
        typename Box::Writer writer(shared->there);
        typename Box::Reader reader(shared->back);
        Message message{};
        Message answer{};
        Series untimed(0);
        for (std::size_t i = 0; i < all; ++i) {
            const bool timed = i >= warm_up;
            const std::uint64_t begin = Clock::begin();
            message.written = begin;
            const bool good = writer.write(message) == Status::ok && reader.read(answer) == Status::ok;
            const std::uint64_t now = arrived(answer.written, timed ? back : untimed, inversions[1]);
            lost += good ? 0U : 1U;
            if (timed) {
                round_trip.add(now - begin);
            }
            if (i % 256 == 255) {
                std::this_thread::sleep_for(std::chrono::microseconds(200));
            }
        }
    };
    const auto answerer = [&] {
        typename Box::Reader reader(shared->there);
        typename Box::Writer writer(shared->back);
        Message message{};
        Series untimed(0);
        for (std::size_t i = 0; i < all; ++i) {
            const bool good = reader.read(message) == Status::ok;
            arrived(message.written, i >= warm_up ? there : untimed, inversions[0]);
            message.written = Clock::begin();
            if (!good || writer.write(message) != Status::ok) {
                return;
            }
        }
    };
    const int priority = options.policy == SCHED_FIFO ? options.priority : 0;
    const std::string refusal = run_threads({{first, priority, caller}, {second, priority, answerer}});
    json::Value result = json::object({{"first", first}, {"second", second}, {"bytes", N}});
    if (!refusal.empty()) {
        result["refused"] = refusal;
        return result;
    }
    if (lost != 0) {
        throw std::logic_error("a mailbox between two processors lost messages");
    }
    result["there"] = there.summary(options.interruption_ns);
    result["back"] = back.summary(options.interruption_ns);
    result["round_trip"] = round_trip.summary(options.interruption_ns);
    result["inversions"] = inversions[0] + inversions[1];
    return result;
}

}  // namespace consort::linux_port
