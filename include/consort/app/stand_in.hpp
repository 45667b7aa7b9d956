// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for a task that has no step: it executes for a time between its best and worst case and passes
// numbered blocks whose every word is checked. How it executes is the port's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "consort/app/channel_ends.hpp"
#include "consort/app/release.hpp"
#include "consort/port.hpp"
#include "consort/task.hpp"

namespace consort::app {

struct StandInIn {
    std::uint64_t job;
    std::uint64_t execution_ns;
    std::uint64_t fallback_ns;  // at its master, in place of a worker that did not answer
};
struct StandInState {
    std::uint64_t jobs;
};
struct StandInOut {
    std::uint64_t job;
};

// True for the stand-in of a task (consort/task/step.hpp). What one computes is its job's number, which no
// record needs.
template <class T>
inline constexpr bool is_stand_in = std::is_same_v<typename T::In, StandInIn>;

// A stand-in's own input: the job's number and how long it is to execute [ns], the same on every target.
class StandInInput {
  public:
    // How long its jobs execute [ns]: between the first two where they are computed, for the third at a
    // master that falls back.
    struct Limits {
        Time best;
        Time worst;
        Time fallback;
    };

    StandInInput(Draw draw, const Limits& limits) noexcept : draw_(draw), limits_(limits) {}

    Transferred read(std::byte* to, Ticks /*as_of*/) noexcept {
        const Time drawn = draw_(Spread::edges, Choice::execution, job_, limits_.best, limits_.worst);
        const StandInIn in{job_, static_cast<std::uint64_t>(drawn),
                           static_cast<std::uint64_t>(limits_.fallback)};
        std::memcpy(to, &in, sizeof in);
        ++job_;
        return {job_, 1, Operation::read};
    }
    // From here on it executes between other limits.
    void enter(const Limits& limits) noexcept { limits_ = limits; }
    // The jobs so far: whoever goes on with it elsewhere begins with this one.
    [[nodiscard]] std::uint64_t& jobs() noexcept { return job_; }

  private:
    Draw draw_;
    Limits limits_;
    std::uint64_t job_ = 0;
};

// A block of a channel between stand-ins. Every word is derived from the block's number.
template <std::uint32_t Words>
struct StandInBlock {
    static constexpr std::uint32_t count = Words;
    [[nodiscard]] static constexpr std::uint32_t word(std::uint64_t sequence, std::uint32_t index) noexcept {
        return static_cast<std::uint32_t>(sequence) * 2654435761U + index * 40503U;
    }
    std::uint32_t words[Words];
};

}  // namespace consort::app

// It has a time for each core that may compute it.
template <>
struct consort::FallbackInput<consort::app::StandInIn> {
    static app::StandInIn of(const app::StandInIn& in) noexcept {
        return {in.job, in.fallback_ns, in.fallback_ns};
    }
};

template <std::uint32_t Words>
struct consort::DeclaredMembers<consort::app::StandInBlock<Words>> {
    static constexpr bool declared = true;
    template <class F>
    static constexpr void visit(F&& f) {
        f("words", 0, std::type_identity<std::uint32_t[Words]>{});
    }
};

namespace consort::app {

// At each word of a block, and now and then in fact: an emulator's other cores would wait for all of a long
// one.
inline void give_turn(std::uint32_t word) noexcept {
    if (word % 256 == 255) {
        isa::relax();
    }
}

// Reads all blocks that are there, and checks them. `as_of`, and `visible` below: see ReadEnd and WriteEnd.
template <class C>
struct StandInReader {
    StandInReader(typename C::Channel::Shared& shared, std::uint32_t index) noexcept : end(shared, index) {}

    // One block a job, as a step that does not take a batch.
    Transferred read(std::byte* /*to*/, Ticks as_of) noexcept {
        Transferred done{sequence, 0, Operation::read};
        const Status status = end.get(block, as_of);
        if (status != Status::ok || block.sequence == sequence) {
            if (status != Status::ok && status != Status::would_block) {
                done.kind = Operation::read_overtaken;
            }
            return done;
        }
        if (block.sequence < sequence || !whole()) {
            done.kind = Operation::read_corrupt;
        }
        sequence = done.sequence = block.sequence;
        done.count = 1;
        return done;
    }

    // The words of a stand-in's block follow from its number; what a step writes is for the step to say.
    [[nodiscard]] bool whole() const noexcept {
        if constexpr (requires { C::Block::count; }) {
            for (std::uint32_t i = 0; i < C::Block::count; ++i) {
                give_turn(i);
                if (block.value.words[i] != C::Block::word(block.sequence, i)) {
                    return false;
                }
            }
        }
        return true;
    }

    typename C::Reader end;
    Numbered<typename C::Block> block{};
    std::uint64_t sequence = 0;
};

// A channel's writer whose blocks are made, not copied.
template <class Clock, class C>
struct StandInWriter : ChannelWriter<Clock, C> {
    using ChannelWriter<Clock, C>::ChannelWriter;

    Transferred write(const std::byte* /*from*/, Ticks visible) noexcept {
        auto& block = this->block;
        const auto fill = [&block] {
            for (std::uint32_t i = 0; i < C::Block::count; ++i) {
                give_turn(i);
                block.value.words[i] = C::Block::word(block.sequence, i);
            }
        };
        return this->write_by(fill, visible);
    }
};

}  // namespace consort::app
