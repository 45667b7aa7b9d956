// SPDX-License-Identifier: Apache-2.0
//
// Steps of a system with every kind of core and channel. Each word of a block follows from the block's
// number, so that a block that is torn, or another one than the record says, shows in the outputs.
#pragma once

#include <cstdint>

#include "consort/task/values.hpp"

namespace mixed {

struct Block {
    std::uint32_t number;
    std::uint32_t words[7];
};

constexpr std::uint32_t word(std::uint32_t number, std::uint32_t index) {
    return number == 0 ? 0 : number * 2654435761U + index * 40503U;
}
constexpr Block block_of(std::uint32_t number) {
    Block block{number, {}};
    for (std::uint32_t i = 0; i < 7; ++i) {
        block.words[i] = word(number, i);
    }
    return block;
}
constexpr std::uint32_t torn(const Block& block) {
    std::uint32_t bad = 0;
    for (std::uint32_t i = 0; i < 7; ++i) {
        bad += block.words[i] != word(block.number, i) ? 1U : 0U;
    }
    return bad;
}

struct Count {
    std::uint32_t jobs;
};

// Writes a block to each channel; `salt` and `level` are rows of a function and of a recording.
struct SourceIn {
    std::uint32_t salt;
    float level;
};
struct SourceOut {
    Block shot, mail_near, line_near, twin_near, mail_far, line_far, twin_far;
    std::uint32_t salt;
    float level;
};
inline void source(const SourceIn& in, Count& state, SourceOut& out) {
    const Block block = block_of(++state.jobs);
    out = {block, block, block, block, block, block, block, in.salt, in.level};
}

struct TakeIn {
    Block shot, mail, twin;
    consort::Batch<Block, 4> line;
};
struct TakeOut {
    std::uint32_t torn, shot, mail, twin, first, last, count;
};
inline void take(const TakeIn& in, Count& state, TakeOut& out) {
    ++state.jobs;
    out = {torn(in.shot) + torn(in.mail) + torn(in.twin),
           in.shot.number,
           in.mail.number,
           in.twin.number,
           0,
           0,
           in.line.count};
    for (std::uint32_t i = 0; i < in.line.count; ++i) {
        out.torn += torn(in.line.items[i]);
        // In their order, without a gap.
        out.torn += i != 0 && in.line.items[i].number != in.line.items[i - 1].number + 1 ? 1U : 0U;
    }
    if (in.line.count != 0) {
        out.first = in.line.items[0].number;
        out.last = in.line.items[in.line.count - 1].number;
    }
}
inline void take_far(const TakeIn& in, Count& state, TakeOut& out) {
    take(in, state, out);
}

struct FreshIn {
    consort::Latest<Block> shot;
};
struct FreshOut {
    std::uint64_t age_ns;
    std::uint32_t torn, sequence, number;
};
inline void fresh(const FreshIn& in, Count& state, FreshOut& out) {
    ++state.jobs;
    out = {in.shot.age_ns, torn(in.shot.value), in.shot.sequence, in.shot.value.number};
}

// One block in, its successor out: in logical time, on a worker, in three phases.
struct None {
    std::uint32_t unused;
};
struct Passed {
    Block block;
};
struct Seen {
    std::uint32_t torn, number;
};
inline void begin(const None& /*in*/, Count& state, Passed& out) {
    out.block = block_of(++state.jobs);
}
inline void see_near(const Passed& in, Count& state, Seen& out) {
    ++state.jobs;
    out = {torn(in.block), in.block.number};
}
inline void see_far(const Passed& in, Count& state, Seen& out) {
    see_near(in, state, out);
}
struct Answer {
    Block block;
    std::uint32_t torn, number, jobs;
};
inline void away(const Passed& in, Count& state, Answer& out) {
    out = {block_of(++state.jobs), torn(in.block), in.block.number, state.jobs};
}

struct Load {
    struct Constants {
        std::uint32_t factor;
    };
    using In = Passed;
    using State = Count;
    struct Out {
        std::uint32_t torn, number, jobs;
    };
    static Constants constants() { return {7}; }
    static void step(const Constants& constants, const In& in, State& state, Out& out) noexcept {
        state.jobs += constants.factor;
        out = {torn(in.block), in.block.number, state.jobs};
    }
};

// A loop around a plant, in integers, so that it can be computed anywhere.
namespace arm {
struct In {
    std::int32_t torque;
};
struct State {
    std::int32_t speed, angle;
};
struct Out {
    std::int32_t angle, speed;
};
inline void step(const In& in, State& state, Out& out) {
    state.speed += in.torque - (state.speed >> 3);
    state.angle += state.speed;
    out = {state.angle, state.speed};
}
}  // namespace arm

struct ControlIn {
    std::int32_t angle;
    std::int32_t wish;
};
struct ControlOut {
    std::int32_t torque;
    std::int32_t angle;
};
inline void control(const ControlIn& in, Count& state, ControlOut& out) {
    ++state.jobs;
    out = {(in.wish - in.angle) >> 4, in.angle};
}

// Gives a number to every second job, and keeps what it was given.
class Remote {
  public:
    bool read(std::uint32_t& value) {
        if (++reads_ % 2 != 0) {
            return false;
        }
        value = 1000 + reads_ + written_;
        return true;
    }
    void write(const std::uint32_t& value) { written_ = value; }

  private:
    std::uint32_t reads_ = 0;
    std::uint32_t written_ = 0;
};
struct DriveIn {
    std::uint32_t value;
};
struct DriveOut {
    std::uint32_t command;
    std::uint32_t value;
};
inline void drive(const DriveIn& in, Count& state, DriveOut& out) {
    out = {++state.jobs * 10000, in.value};
}

}  // namespace mixed
