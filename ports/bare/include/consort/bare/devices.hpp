// SPDX-License-Identifier: Apache-2.0
//
// Plays the devices that are only described and write channels, for tasks without steps: numbered blocks, as
// often as a message may come. A process in the board's time (consort/bare/synchronized_process.hpp), which
// announces when it writes next, so that the board stops for nothing else.
#pragma once

#include <cstdint>
#include <new>
#include <span>

#include "consort/app/ring.hpp"
#include "consort/bare/clocks.hpp"
#include "consort/bare/data_flow.hpp"
#include "consort/bare/offload.hpp"

namespace consort::bare {

// A channel that a device writes.
struct DeviceFlow {
    app::WriteEnd end;
    Ticks period = 0;
    Ticks next = 0;
    std::uint32_t blocks = 0;
};

// Plays the devices of a core's numbers: Values has those that all have, the ring's place and length, and
// behind them the period of each flow. `flows`: at least one. The program's exit status.
template <class Values>
int play_devices(ControlBlock& block, std::span<DeviceFlow> flows) noexcept {
    using Core = typename Values::Core;
    const auto number = [&](Core what) { return core_value<Values>(block, what); };
    const auto core = static_cast<std::uint32_t>(number(Core::number));
    const auto masters = static_cast<std::uint32_t>(number(Core::masters));
    auto* const memory = new (window() + number(Core::ring))
        app::RingMemory{static_cast<std::uint32_t>(number(Core::ring_bytes))};
    app::RingWriter record(*memory);
    RunLines lines(window() + number(Core::lines), static_cast<std::uint32_t>(number(Core::cores)), core);

    CoreClocks clocks(window() + number(Core::clocks), masters, core, block);
    CoreTimer::begin_waiting();
    const bool begun = clocks.begin(number(Core::lead), RunTime::start);
    CoreTimer::end_waiting();
    if (!begun) {
        return fail(block, "the host has ended the run");
    }
    const Ticks end = RunTime::start + number(Core::until);
    for (std::uint32_t i = 0; i < flows.size(); ++i) {
        flows[i].period = value_at(block, static_cast<std::uint32_t>(Core::count) + i);
        flows[i].next = RunTime::start;
    }
    for (;;) {
        DeviceFlow* first = &flows[0];
        for (DeviceFlow& flow : flows) {
            first = flow.next < first->next ? &flow : first;
        }
        if (first->next >= end || lines.stopped()) {
            break;
        }
        if (first->next > ThisPort::now()) {
            ThisPort::spend(first->next - ThisPort::now());
        }
        const app::Transferred moved = first->end.write(first->end.self, nullptr, first->next);
        const Operation made{ThisPort::now(),
                             moved.sequence,
                             first->blocks,
                             Event::none,
                             first->end.channel,
                             moved.kind,
                             static_cast<std::uint16_t>(moved.count),
                             0};
        record.put(app::RecordTable::operation, Event::none, &made, sizeof made);
        ++first->blocks;
        first->next += first->period;
    }
    CoreTimer::await([&] { return lines.all_finished(masters) || block.stop_requested(); });
    CoreTimer::begin_waiting();
    const bool ended = clocks.end();
    CoreTimer::end_waiting();
    block.result(2, static_cast<std::uint32_t>(RunTime::start));
    block.result(3, static_cast<std::uint32_t>(RunTime::start >> 32U));
    return ended ? 0 : fail(block, "the host has ended the run");
}

}  // namespace consort::bare
