// SPDX-License-Identifier: Apache-2.0
//
// Making the calling thread real-time as far as the machine allows, and saying how far that was.
//
// Nothing here throws for lack of a permission: the thread then runs without that one help, and the record
// says so. Order matters where a program forks: fork first, then call this in each process. A fork
// write-protects private memory in the parent too and memory locks are not inherited; locking afterwards
// takes the resulting faults now.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
#include <sys/rseq.h>
#endif
#endif

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "consort/linux/cpus.hpp"

namespace consort::linux_port {

struct RealtimeOptions {
    std::optional<int> cpu;       // the one processor to run on
    int policy = SCHED_FIFO;      // SCHED_OTHER: leave the ordinary class
    int priority = 80;            // of SCHED_FIFO or SCHED_RR
    bool lock_memory = true;      // mlockall, now and for what is mapped later
    bool cpu_dma_latency = true;  // no idle state deeper than polling while this runs
    std::size_t prefault_stack = std::size_t{256} << 10U;  // bytes of stack to touch beforehand
};

// The achieved settings: they go into every run's record.
struct Realtime {
    int cpu = -1;  // -1: not pinned
    std::string policy = "SCHED_OTHER";
    int priority = 0;
    bool mlockall = false;
    bool cpu_dma_latency = false;
    bool huge_pages = false;  // set by who owns the buffers
    std::vector<std::string> notes;
};

inline const char* policy_name(int policy) {
    switch (policy & ~SCHED_RESET_ON_FORK) {
        case SCHED_FIFO:
            return "SCHED_FIFO";
        case SCHED_RR:
            return "SCHED_RR";
        case SCHED_OTHER:
            return "SCHED_OTHER";
        case SCHED_BATCH:
            return "SCHED_BATCH";
        case SCHED_IDLE:
            return "SCHED_IDLE";
        default:
            return "unknown";
    }
}

// Ends this process when its parent thread ends. Returns false when the parent has gone already.
inline bool die_with_parent(pid_t parent, int signal = SIGKILL) {
    return ::prctl(PR_SET_PDEATHSIG, signal) == 0 && ::getppid() == parent;
}

// The C library has the kernel write into each thread's memory on which processor it is, whenever it wakes or
// is preempted: for restartable sequences, which nothing here uses. The calling thread does without for the
// rest of its life, and wakes a fifth of a microsecond earlier; sched_getcpu() asks the kernel then. True if
// it was registered.
inline bool leave_restartable_sequences() noexcept {
#if defined(RSEQ_SIG)
    // As the C library registers it: in whole parts of 32 bytes.
    const unsigned bytes = std::max(32U, (__rseq_size + 31U) / 32U * 32U);
    auto* mine = static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset;
    return __rseq_size != 0 && ::syscall(SYS_rseq, mine, bytes, RSEQ_FLAG_UNREGISTER, RSEQ_SIG) == 0;
#else
    return false;
#endif
}

namespace detail {

inline std::string because(const char* what, int error, const char* remedy) {
    return std::string(what) + ": " + std::strerror(error) + "; " + remedy;
}

// Touches a stretch of stack below the caller. Not inlined: its frame is the stretch.
[[gnu::noinline]] inline void touch_stack(std::size_t bytes) {
    constexpr std::size_t step = 4096;
    volatile unsigned char page[step];
    page[0] = 0;
    page[step - 1] = 0;
    if (bytes > step) {
        touch_stack(bytes - step);
    }
    // Used after the call, so that the recursion is not turned into a loop over one frame.
    page[1] = page[0];
}

}  // namespace detail

// Applies the options to the calling thread and takes them back when it goes out of scope.
class RealtimeGuard {
  public:
    explicit RealtimeGuard(const RealtimeOptions& options) {
        pin(options);
        tighten_timers();
        lock(options);
        forbid_deep_idle(options);
        prefault(options);
        // Last: everything above may block.
        schedule(options);
    }
    RealtimeGuard(const RealtimeGuard&) = delete;
    RealtimeGuard& operator=(const RealtimeGuard&) = delete;
    ~RealtimeGuard() {
        if (scheduled_) {
            ::sched_setscheduler(0, policy_before_, &parameters_before_);
        }
        if (!cpus_before_.empty()) {
            set_affinity(cpus_before_);
        }
        if (slack_before_ > 0) {
            ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_before_));
        }
        if (achieved_.mlockall && !leave_locked_) {
            ::munlockall();
        }
        if (latency_fd_ >= 0) {
            ::close(latency_fd_);
        }
    }

    [[nodiscard]] const Realtime& achieved() const noexcept { return achieved_; }

    // For the rest of the process's life.
    Realtime release() {
        scheduled_ = false;
        cpus_before_.clear();
        slack_before_ = 0;
        leave_locked_ = true;
        latency_fd_ = -1;  // stays open: closing it would allow deep idle states again
        return achieved_;
    }

  private:
    void note(std::string text) { achieved_.notes.push_back(std::move(text)); }

    void pin(const RealtimeOptions& options) {
        if (!options.cpu) {
            return;
        }
        const CpuList before = available_cpus();
        if (set_affinity({*options.cpu})) {
            cpus_before_ = before;
            achieved_.cpu = *options.cpu;
        } else {
            note(detail::because(("cannot run on processor " + std::to_string(*options.cpu)).c_str(), errno,
                                 "see the processors this process may use: taskset -cp $$"));
        }
    }

    // Ordinary threads' timers may fire up to 50 µs late to be batched; real-time ones' never are, so this
    // matters where SCHED_FIFO is refused.
    void tighten_timers() {
        slack_before_ = ::prctl(PR_GET_TIMERSLACK);
        ::prctl(PR_SET_TIMERSLACK, 1UL);
    }

    void lock(const RealtimeOptions& options) {
        if (!options.lock_memory) {
            return;
        }
        achieved_.mlockall = ::mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
        if (!achieved_.mlockall) {
            note(detail::because("memory is not locked", errno,
                                 "raise the limit (ulimit -l unlimited) or give CAP_IPC_LOCK"));
        }
    }

    // The kernel honours the request for as long as the file stays open.
    void forbid_deep_idle(const RealtimeOptions& options) {
        if (!options.cpu_dma_latency) {
            return;
        }
        latency_fd_ = ::open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
        const std::int32_t microseconds = 0;
        if (latency_fd_ >= 0 &&
            ::write(latency_fd_, &microseconds, sizeof microseconds) == sizeof microseconds) {
            achieved_.cpu_dma_latency = true;
            return;
        }
        note(detail::because("idle states are not limited (/dev/cpu_dma_latency)", errno,
                             "run as root or give the user access to that device"));
    }

    // Never more than half of what is left of the stack's limit.
    void prefault(const RealtimeOptions& options) {
        rlimit limit{};
        std::size_t bytes = options.prefault_stack;
        if (::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
            bytes > limit.rlim_cur / 2) {
            bytes = limit.rlim_cur / 2;
            note("only " + std::to_string(bytes) +
                 " bytes of stack were touched beforehand: the limit is near");
        }
        if (bytes > 0) {
            detail::touch_stack(bytes);
        }
    }

    void schedule(const RealtimeOptions& options) {
        policy_before_ = ::sched_getscheduler(0);
        ::sched_getparam(0, &parameters_before_);
        achieved_.policy = policy_name(policy_before_);
        achieved_.priority = parameters_before_.sched_priority;
        if (options.policy == SCHED_OTHER) {
            return;
        }
        sched_param parameters{};
        parameters.sched_priority = options.priority;
        // Reset on fork: a program started from a real-time thread is not itself real-time unless it asks.
        if (::sched_setscheduler(0, options.policy | SCHED_RESET_ON_FORK, &parameters) == 0) {
            scheduled_ = true;
            achieved_.policy = policy_name(options.policy);
            achieved_.priority = options.priority;
        } else {
            note(detail::because((std::string(policy_name(options.policy)) + " refused").c_str(), errno,
                                 "run as root, give CAP_SYS_NICE, or raise the limit (ulimit -r)"));
        }
    }

    Realtime achieved_;
    CpuList cpus_before_;
    sched_param parameters_before_{};
    int policy_before_ = SCHED_OTHER;
    int slack_before_ = 0;
    int latency_fd_ = -1;
    bool scheduled_ = false;
    bool leave_locked_ = false;
};

// The same for the rest of the process's life.
inline Realtime enter_realtime(const RealtimeOptions& options) {
    RealtimeGuard guard(options);
    return guard.release();
}

}  // namespace consort::linux_port
