// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for a task that has no step: it executes for a time between its best and worst case and passes
// numbered blocks whose every word is checked.
#pragma once

#include <time.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "consort/linux/executive/channels.hpp"
#include "consort/task.hpp"

namespace consort::linux_port {

struct StandInIn {
    std::uint64_t job;
    std::uint64_t execution_ns;
};
struct StandInState {
    std::uint64_t jobs;
};
struct StandInOut {
    std::uint64_t job;
};

// Executes for `ns` of the thread's own processor time: what preempts it does not count.
inline void execute_for(std::uint64_t ns) noexcept {
    const auto executed = [] {
        timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
               static_cast<std::uint64_t>(time.tv_nsec);
    };
    // Reading the clock is part of the execution, and the caller's own clock sees a little more of it: better
    // a little early than above the WCET.
    constexpr std::uint64_t reading = 3000;
    const std::uint64_t until = executed() + (ns > reading ? ns - reading : 0);
    std::uint32_t word = 1;
    while (executed() < until) {
        for (int i = 0; i < 64; ++i) {
            word = word * 1664525U + 1013904223U;
            asm volatile("" : "+r"(word));
        }
    }
}

inline void stand_in_step(const StandInIn& in, StandInState& state, StandInOut& out) noexcept {
    execute_for(in.execution_ns);
    ++state.jobs;
    out.job = in.job;
}

using StandIn = Task<&stand_in_step>;

// A block of a channel between stand-ins. Every word is derived from the block's number.
template <std::uint32_t Words>
struct StandInBlock {
    std::uint32_t words[Words];
};

}  // namespace consort::linux_port

template <std::uint32_t Words>
struct consort::DeclaredMembers<consort::linux_port::StandInBlock<Words>> {
    static constexpr bool declared = true;
    template <class F>
    static constexpr void visit(F&& f) {
        f("words", 0, std::type_identity<std::uint32_t[Words]>{});
    }
};

namespace consort::linux_port {

namespace detail {

[[nodiscard]] constexpr std::uint32_t stand_in_word(std::uint64_t sequence, std::uint32_t index) noexcept {
    return static_cast<std::uint32_t>(sequence) * 2654435761U + index * 40503U;
}

template <class C>
struct StandInReader final : ReadSource {
    StandInReader(typename C::Channel::Shared& shared, std::uint32_t index) : end(shared, index) {}

    Transferred read(std::byte* /*to*/, Ticks as_of) noexcept override {
        Transferred done{sequence, 0, Operation::read};
        for (;;) {
            const Status status = end.get(block, as_of);
            if (status != Status::ok || block.sequence == sequence) {
                if (status != Status::ok && status != Status::would_block) {
                    done.kind = Operation::read_overtaken;
                }
                break;
            }
            if (block.sequence < sequence || !whole()) {
                done.kind = Operation::read_corrupt;
            }
            sequence = block.sequence;
            ++done.count;
            if (!C::queued) {
                break;
            }
        }
        done.sequence = sequence;
        return done;
    }
    std::span<std::byte> kept() noexcept override {
        auto* from = reinterpret_cast<std::byte*>(&end);
        return {from, reinterpret_cast<std::byte*>(this + 1)};
    }

    [[nodiscard]] bool whole() const noexcept {
        constexpr std::uint32_t words = sizeof block.value.words / sizeof(std::uint32_t);
        for (std::uint32_t i = 0; i < words; ++i) {
            if (block.value.words[i] != stand_in_word(block.sequence, i)) {
                return false;
            }
        }
        return true;
    }

    typename C::Reader end;
    app::Numbered<typename C::Block> block{};
    std::uint64_t sequence = 0;
};

template <class C>
struct StandInWriter final : WriteTarget {
    explicit StandInWriter(typename C::Channel::Shared& shared) : end(shared), channel(&shared) {}
    void take_over() noexcept override { end = typename C::Writer(*channel); }
    void passed() noexcept override { ++block.sequence; }

    Transferred write(const std::byte* /*from*/, Ticks visible) noexcept override {
        constexpr std::uint32_t words = sizeof block.value.words / sizeof(std::uint32_t);
        ++block.sequence;
        block.written = LinuxPort::now();
        for (std::uint32_t i = 0; i < words; ++i) {
            block.value.words[i] = stand_in_word(block.sequence, i);
        }
        const bool taken = end.put(block, visible) == Status::ok;
        return {block.sequence, taken ? 1U : 0U, taken ? Operation::write : Operation::write_dropped};
    }
    std::span<std::byte> kept() noexcept override {
        auto* from = reinterpret_cast<std::byte*>(&end);
        return {from, reinterpret_cast<std::byte*>(this + 1)};
    }

    typename C::Writer end;
    typename C::Channel::Shared* channel;
    app::Numbered<typename C::Block> block{};
};

}  // namespace detail

template <class C, class Binding>
std::shared_ptr<ReadSource> open_stand_in_reader(const Region<>& region, const Binding& binding) {
    return std::make_shared<detail::StandInReader<C>>(
        *open_or_refuse<typename C::Channel>(region, object_name(binding.source)), binding.reader);
}

template <class C, class Binding>
std::shared_ptr<WriteTarget> open_stand_in_writer(const Region<>& region, const Binding& binding) {
    return std::make_shared<detail::StandInWriter<C>>(
        *open_or_refuse<typename C::Channel>(region, object_name(binding.source)));
}

}  // namespace consort::linux_port
