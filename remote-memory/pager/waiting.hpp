// SPDX-License-Identifier: Apache-2.0
//
// How the pager's threads wait for each other, and keep signals of the program away.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <ctime>
#include <thread>

#include "consort/port.hpp"

namespace consort::remote {

// Waits for another thread for a moment: it may need this processor, and have a lower priority.
class Patience {
  public:
    void wait() noexcept {
        ++turns_;
        if (turns_ < 200) {
            isa::relax();
        } else if (turns_ < 400) {
            ::sched_yield();
        } else {
            const timespec moment{0, 50'000};
            ::nanosleep(&moment, nullptr);
        }
    }

  private:
    unsigned turns_ = 0;
};

// No signal handler of the program runs in this thread meanwhile.
class Quiet {
  public:
    Quiet() noexcept {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;
    ~Quiet() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_{};
};

// The threads of the pager take no signals of the program.
template <class Body>
std::thread quiet_thread(Body body) {
    const Quiet quiet;
    return std::thread(body);
}

}  // namespace consort::remote
