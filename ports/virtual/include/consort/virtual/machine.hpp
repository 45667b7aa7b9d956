// SPDX-License-Identifier: Apache-2.0
//
// Cores under a clock that the host's does not touch: the executive, the dispatcher and the three-phase
// kernel of the target library, in one process and one thread, the same on every run and every host.
// docs/explanation/executive.md.
#pragma once

#include <cstdint>
#include <memory>

#include "consort/virtual/system.hpp"

namespace consort::virtual_time {

struct Outcome {
    std::uint64_t jobs = 0;
    std::uint64_t misses = 0;   // of their deadlines, unserved ones included
    Time stopped = app::never;  // when a task whose policy is `stop` ended the run
};

// Keeps its memory from run to run. Not for two threads at once.
class Machine {
  public:
    Machine();
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    // Releases jobs for the duration and goes on until all are done. std::invalid_argument, with the core,
    // task or channel, for what cannot be run; std::overflow_error where a time leaves 62 bits.
    Outcome run(const System& system, const Settings& settings, Trace* trace = nullptr,
                Observer* observer = nullptr);
    // The same with changes of mode.
    Outcome run(const Modes& modes, const Settings& settings, Trace* trace = nullptr,
                Observer* observer = nullptr);

    // From an observer, of a run with modes: a job that ends now asks for this mode.
    void request(std::uint32_t mode);

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace consort::virtual_time
