// SPDX-License-Identifier: Apache-2.0
//
// Executing a job so that it can be stopped and may fault: the thread comes back either way.
//
// A job is left by a jump out of a signal handler. So a job holds no lock, allocates nothing and owns
// nothing that must be given back: it computes on its partition. It cannot be kept from writing to other
// memory of the process; what lies next to its partition faults.
#pragma once

#include <pthread.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include "consort/spm/application_core.hpp"

namespace consort::linux_port {

using JobFunction = void (*)(const spm::Partition& parts);

// One for each application core's thread.
class JobGuard {
  public:
    static constexpr int stop_signal = SIGUSR1;

    // Once a process, before the first guard is used.
    static void install() {
        struct sigaction action {};
        sigemptyset(&action.sa_mask);
        // Left by a jump, a handler never returns to give its mask back.
        action.sa_flags = SA_NODEFER | SA_ONSTACK;
        action.sa_handler = &on_stop;
        ::sigaction(stop_signal, &action, nullptr);
        action.sa_handler = &on_fault;
        for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
            ::sigaction(signal, &action, nullptr);
        }
    }

    // By the thread itself.
    void attach() noexcept {
        current() = this;
        thread_ = ::pthread_self();
        attached_.store(true, std::memory_order_release);
    }

    [[nodiscard]] spm::Outcome run(std::uint64_t id, JobFunction job, const spm::Partition& parts) noexcept {
        switch (sigsetjmp(back_, 0)) {
            case 0:
                break;
            case 1:
                return spm::Outcome::stopped;
            default:
                return spm::Outcome::fault;
        }
        inside_.store(id, std::memory_order_relaxed);
        // Not before the jump's target is set; not after the job has begun.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        job(parts);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        inside_.store(nothing, std::memory_order_relaxed);
        return spm::Outcome::done;
    }

    // From another thread: leaves that job, if the thread is still in it.
    void stop(std::uint64_t id) noexcept {
        if (attached_.load(std::memory_order_acquire)) {
            wanted_.store(id, std::memory_order_relaxed);
            ::pthread_kill(thread_, stop_signal);
        }
    }

    // The signal of the last job that faulted; 0: none did.
    [[nodiscard]] int fault_signal() const noexcept { return fault_.load(std::memory_order_relaxed); }

    [[nodiscard]] static constexpr std::uint64_t id_of(std::uint32_t task, std::uint32_t job) noexcept {
        return std::uint64_t{task} << 32U | job;
    }

  private:
    static constexpr std::uint64_t nothing = ~std::uint64_t{0};

    static JobGuard*& current() noexcept {
        thread_local JobGuard* guard = nullptr;
        return guard;
    }
    static void on_stop(int /*signal*/) {
        JobGuard* guard = current();
        if (guard != nullptr && guard->inside_.load(std::memory_order_relaxed) != nothing &&
            guard->inside_.load(std::memory_order_relaxed) ==
                guard->wanted_.load(std::memory_order_relaxed)) {
            guard->inside_.store(nothing, std::memory_order_relaxed);
            siglongjmp(guard->back_, 1);
        }
    }
    static void on_fault(int signal) {
        JobGuard* guard = current();
        if (guard != nullptr && guard->inside_.load(std::memory_order_relaxed) != nothing) {
            guard->inside_.store(nothing, std::memory_order_relaxed);
            guard->fault_.store(signal, std::memory_order_relaxed);
            siglongjmp(guard->back_, 2);
        }
        // Not a job's: as if there were no handler.
        std::signal(signal, SIG_DFL);
        ::raise(signal);
    }

    sigjmp_buf back_{};
    std::atomic<std::uint64_t> inside_{nothing};
    std::atomic<std::uint64_t> wanted_{nothing};
    std::atomic<bool> attached_{false};
    std::atomic<int> fault_{0};
    pthread_t thread_{};
};

}  // namespace consort::linux_port
