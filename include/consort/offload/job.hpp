// SPDX-License-Identifier: Apache-2.0
//
// A job, and how it travels: In in one mailbox, Out back in another, State at job boundaries only.
//
// A task is a step over plain data, `void step(const In&, State&, Out&)`. Everything here is derived from the
// step's type.
#pragma once

#include <cstdint>
#include <type_traits>

#include "consort/icc/access.hpp"
#include "consort/icc/mailbox.hpp"
#include "consort/icc/snapshot.hpp"
#include "consort/icc/wire.hpp"

namespace consort::offload {

namespace detail {

struct Empty {};

// Types that stand for those of a step that is none, so that its reader gets one message and not a page.
template <class F>
struct StepTypes {
    static constexpr bool is_step = false;
    using In = Empty;
    using State = Empty;
    using Out = Empty;
};
template <class I, class S, class O>
struct StepTypes<void (*)(const I&, S&, O&)> {
    static constexpr bool is_step = true;
    using In = I;
    using State = S;
    using Out = O;
};
template <class I, class S, class O>
struct StepTypes<void (*)(const I&, S&, O&) noexcept> : StepTypes<void (*)(const I&, S&, O&)> {};

}  // namespace detail

// A task made of a step function. `Step` is void(const In&, State&, Out&), optionally noexcept; a fresh State
// is State{}.
template <auto Step>
struct Task {
    static_assert(detail::StepTypes<decltype(Step)>::is_step,
                  "a step is a function void(const In&, State&, Out&), optionally noexcept: it reads its "
                  "input, changes its state and fills in its output");
    using In = typename detail::StepTypes<decltype(Step)>::In;
    using State = typename detail::StepTypes<decltype(Step)>::State;
    using Out = typename detail::StepTypes<decltype(Step)>::Out;
    static void step(const In& in, State& state, Out& out) {
        if constexpr (detail::StepTypes<decltype(Step)>::is_step) {
            Step(in, state, out);
        }
    }
};

// The record of one job, as the raw run folder has it (docs/reference/run-record.md). Times in ticks; 0 = did
// not happen.
struct JobRecord {
    std::uint64_t release;
    std::uint64_t start;
    std::uint64_t sent;
    std::uint64_t received;
    std::uint64_t finish;
    std::uint64_t compute;
    std::uint64_t worker_receive;
    std::uint64_t worker_send;
    std::uint32_t seq;
    std::uint32_t status;
    std::uint16_t worker;
    std::uint16_t kind;
    std::uint32_t step;  // row of the input
};
static_assert(sizeof(JobRecord) == 80);

// Request flags.
inline constexpr std::uint32_t reset_state = 1;    // begin this job from State{}
inline constexpr std::uint32_t restore_state = 2;  // begin this job from the state in the `restore` snapshot

template <class In>
struct Request {
    // The job's number; the answer repeats it, so a late answer is never taken for the next.
    std::uint32_t sequence;
    std::uint32_t flags;
    // The worker's epoch as the master knows it. A worker that was restarted since does not serve the job: it
    // has not the state that the master believes it has.
    std::uint32_t worker_epoch;
    std::uint32_t reserved;
    In in;
};

template <class Out>
struct Response {
    std::uint32_t sequence;
    // How long the step took on the worker [ticks of the worker's clock, modulo 2^32].
    std::uint32_t compute_ticks;
    Out out;
};

// The state after job `sequence`: published by the worker after it has answered, off the critical path.
template <class State>
struct Checkpoint {
    std::uint32_t sequence;
    std::uint32_t reserved;
    State state;
};

// The four objects through which one task of one worker is served.
template <class T, class A = access::Coherent>
struct JobChannels {
    using RequestBox = Mailbox<Request<typename T::In>, A>;
    using ResponseBox = Mailbox<Response<typename T::Out>, A>;
    using StateBox = Snapshot<Checkpoint<typename T::State>, 1, A>;

    typename RequestBox::Shared* in = nullptr;
    typename ResponseBox::Shared* out = nullptr;
    typename StateBox::Shared* checkpoint = nullptr;  // worker to master
    typename StateBox::Shared* restore = nullptr;     // master to worker
};

}  // namespace consort::offload
