// SPDX-License-Identifier: Apache-2.0
//
// A job, and how it travels: In and Out through one Duplex, State at job boundaries only.
//
// Everything here is derived from the step's type (consort/task/step.hpp).
#pragma once

#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/icc/duplex.hpp"
#include "consort/icc/snapshot.hpp"
#include "consort/icc/wire.hpp"
#include "consort/task.hpp"

namespace consort::offload {

using consort::OnMiss;
using consort::Task;
namespace job_status = consort::job_status;

// Request flags.
inline constexpr std::uint16_t reset_state = 1;    // begin this job from State{}
inline constexpr std::uint16_t restore_state = 2;  // begin this job from the state in the `restore` snapshot

template <class In>
struct Request {
    // The job's number; the answer repeats it, so a late answer is never taken for the next.
    std::uint32_t sequence;
    // Half words, so that an input of up to 16 bytes shares one line with its answer (Duplex).
    std::uint16_t flags;
    // The worker's epoch as the master knows it, modulo 2^16. A worker that was restarted since does not
    // serve the job: it has not the state that the master believes it has.
    std::uint16_t worker_epoch;
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

}  // namespace consort::offload

namespace consort::detail {

template <class T>
struct Carried<offload::Request<T>> {
    using Type = T;
};
template <class T>
struct Carried<offload::Response<T>> {
    using Type = T;
};
template <class T>
struct Carried<offload::Checkpoint<T>> {
    using Type = T;
};

}  // namespace consort::detail

namespace consort::offload {

// The three objects through which one task of one worker is served. The master is the Duplex's client.
template <class T, class A = access::Coherent>
struct JobChannels {
    using Mail = Duplex<Request<typename T::In>, Response<typename T::Out>, A>;
    using StateBox = Snapshot<Checkpoint<typename T::State>, 1, A>;

    typename Mail::Shared* mail = nullptr;
    typename StateBox::Shared* checkpoint = nullptr;  // worker to master
    typename StateBox::Shared* restore = nullptr;     // master to worker
};

}  // namespace consort::offload
