// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes of a bare core's tasks: the channel and device ends of consort/app in the run's time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/app/channel_ends.hpp"
#include "consort/app/device_ends.hpp"
#include "consort/bare/program.hpp"

namespace consort::bare {

// Nanoseconds since the run's start. Each core has a clock of its own, and a version that one core publishes
// at an instant is read by others as of theirs; so channels and devices count from the instant at which all
// cores begin. A tick is a whole number of nanoseconds.
struct RunTime {
    static Ticks since_start(Ticks tick) noexcept {
        return tick > start ? (tick - start) * (1'000'000'000U / ThisPort::ticks_per_second()) : 0;
    }
    static Ticks now() noexcept { return since_start(ThisPort::now()); }
    static Ticks to_ns(Ticks time) noexcept { return time; }
    static Ticks from_ns(std::uint64_t ns) noexcept { return ns; }

    static inline Ticks start = 0;  // by this core's clock
};

// A task's reads and writes, in their order.
struct Ends {
    const app::ReadEnd* reads = nullptr;
    std::uint32_t read_count = 0;
    const app::WriteEnd* writes = nullptr;
    std::uint32_t write_count = 0;
};

// Reader, Writer: ends of consort/app. `logical` and the others: see app::ReadEnd.
template <class Reader>
app::ReadEnd read_end(Reader& reader, std::size_t offset, std::uint16_t channel, bool logical) noexcept {
    return {&reader,
            [](void* self, std::byte* to, Ticks as_of) noexcept {
                return static_cast<Reader*>(self)->read(to, RunTime::since_start(as_of));
            },
            static_cast<std::uint32_t>(offset), channel, logical};
}
template <class Writer>
app::WriteEnd write_end(Writer& writer, std::size_t offset, std::uint16_t channel, bool logical) noexcept {
    return {&writer,
            [](void* self, const std::byte* from, Ticks visible) noexcept {
                return static_cast<Writer*>(self)->write(from, RunTime::since_start(visible));
            },
            static_cast<std::uint32_t>(offset), channel, logical};
}

}  // namespace consort::bare
