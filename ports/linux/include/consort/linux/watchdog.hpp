// SPDX-License-Identifier: Apache-2.0
//
// A run that cannot lock up the machine.
//
// The supervisor starts the processes of a run and does nothing but wait for them, above their priority: busy
// SCHED_FIFO threads on every core cannot keep it from ending them. Three lines of defence: the supervisor's
// time bound; the kernel's bound on real-time processor time in each child (RLIMIT_RTTIME), should the
// supervisor starve; and the parent-death signal, should the supervisor itself be killed.
#pragma once

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "consort/linux/clock.hpp"
#include "consort/linux/realtime.hpp"

namespace consort::linux_port {

struct Child {
    std::string name;
    std::function<int()> body;  // runs in a process of its own; its result is the exit status
    bool ends_run = false;      // when it ends, the others are ended too
    unsigned max_restarts = 0;  // how often it is started anew after an abnormal end
};

struct ChildStatus {
    std::string name;
    pid_t pid = -1;
    bool running = false;
    int code = 0;    // exit status, where `signal` is 0
    int signal = 0;  // the signal that ended it
    bool killed_by_supervisor = false;
    unsigned restarts = 0;

    [[nodiscard]] bool failed() const { return signal != 0 || code != 0; }
};

[[nodiscard]] inline std::string signal_words(int signal) {
    return "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

// How a process that computes steps ended before its last job, in words.
[[nodiscard]] inline std::string ending_words(const ChildStatus& status) {
    return status.signal != 0 ? "the process was ended by " + signal_words(status.signal)
                              : "the process ended with status " + std::to_string(status.code) +
                                    " before its last job; a step must return, not exit";
}

struct Outcome {
    std::vector<ChildStatus> children;  // in the order of `add`
    bool timed_out = false;
    int interrupted_by = 0;  // the signal that asked the supervisor to end, 0 where none did
    std::vector<std::string> notes;

    // No child failed of its own accord, and the run was neither timed out nor interrupted.
    [[nodiscard]] bool good() const {
        return !timed_out && interrupted_by == 0 &&
               std::none_of(children.begin(), children.end(),
                            [](const ChildStatus& c) { return c.failed() && !c.killed_by_supervisor; });
    }

    // The names of the children that did not end of their own accord, with commas.
    [[nodiscard]] std::string ended_by_supervisor() const {
        std::string names;
        for (const ChildStatus& child : children) {
            if (child.killed_by_supervisor) {
                names += (names.empty() ? "" : ", ") + child.name;
            }
        }
        return names;
    }
};

struct SupervisorOptions {
    std::chrono::milliseconds time_limit{60'000};
    std::chrono::milliseconds grace{200};  // between SIGTERM and SIGKILL
    int priority = 95;                     // above every child's
};

// The signal that stopped a child, 0 where it is not stopped. It can be asked again and again.
[[nodiscard]] inline int stopped_by(pid_t child) {
    siginfo_t info{};
    const bool stopped =
        ::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid != 0;
    return stopped ? info.si_status : 0;
}

// Use from a process with one thread: children are made by fork.
class Supervisor {
  public:
    explicit Supervisor(SupervisorOptions options) : options_(options) {}
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;

    std::size_t add(Child child) {
        children_.push_back(std::move(child));
        return children_.size() - 1;
    }

    // Both run in the supervisor, at its priority: keep them short. `on_death` comes before a restart.
    std::function<void(std::size_t, const ChildStatus&)> on_start;
    std::function<void(std::size_t, const ChildStatus&)> on_death;
    // Called every `tick` with all children, where it is set.
    std::function<void(const std::vector<ChildStatus>&)> on_tick;
    std::chrono::milliseconds tick{60'000};

    // Starts every child and returns when none is left. Throws std::system_error when a process cannot be
    // made; those made before are ended first.
    Outcome run() {
        Outcome outcome;
        for (const Child& child : children_) {
            ChildStatus status;
            status.name = child.name;
            outcome.children.push_back(status);
        }
        pids_.assign(children_.size(), Process{});
        const Signals signals;
        const RealtimeGuard above(guard_options());
        for (const std::string& note : above.achieved().notes) {
            outcome.notes.push_back("supervisor: " + note);
        }
        deadline_ = now_ms() + options_.time_limit.count();
        kill_at_ = 0;
        try {
            for (std::size_t i = 0; i < children_.size(); ++i) {
                start(i, outcome, signals);
            }
            while (any_running()) {
                turn(outcome, signals);
            }
        } catch (...) {
            for (std::size_t i = 0; i < children_.size(); ++i) {
                if (pids_[i].pid > 0) {
                    ::kill(-pids_[i].pid, SIGKILL);
                    reap(i, outcome);
                }
            }
            throw;
        }
        return outcome;
    }

  private:
    struct Process {
        pid_t pid = -1;
        int fd = -1;
    };

    // The signals that end a run arrive as readable events while one of these exists.
    class Signals {
      public:
        Signals() {
            sigset_t set;
            sigemptyset(&set);
            for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
                sigaddset(&set, signal);
            }
            ::sigprocmask(SIG_BLOCK, &set, &before_);
            fd_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
            if (fd_ < 0) {
                const int error = errno;
                ::sigprocmask(SIG_SETMASK, &before_, nullptr);
                throw std::system_error(error, std::generic_category(), "signalfd");
            }
        }
        Signals(const Signals&) = delete;
        Signals& operator=(const Signals&) = delete;
        ~Signals() {
            ::close(fd_);
            ::sigprocmask(SIG_SETMASK, &before_, nullptr);
        }
        [[nodiscard]] int fd() const { return fd_; }
        [[nodiscard]] const sigset_t& before() const { return before_; }

      private:
        sigset_t before_{};
        int fd_ = -1;
    };

    [[nodiscard]] RealtimeOptions guard_options() const {
        RealtimeOptions options;
        options.priority = options_.priority;
        options.lock_memory = false;
        options.cpu_dma_latency = false;
        options.prefault_stack = 0;
        return options;
    }

    static std::int64_t now_ms() { return static_cast<std::int64_t>(clock_ns(CLOCK_MONOTONIC) / 1'000'000U); }

    [[nodiscard]] bool any_running() const {
        return std::any_of(pids_.begin(), pids_.end(), [](const Process& p) { return p.pid > 0; });
    }

    [[noreturn]] void become_child(std::size_t index, pid_t parent, const Signals& signals) {
        ::setpgid(0, 0);
        if (!die_with_parent(parent)) {
            ::_exit(128 + SIGKILL);
        }
        ::sigprocmask(SIG_SETMASK, &signals.before(), nullptr);
        // Counted by the kernel's tick and only while the process never sleeps: later than the supervisor's
        // own bound.
        const auto slack = options_.time_limit + options_.grace + std::chrono::seconds(1);
        const auto microseconds = static_cast<rlim_t>(std::chrono::microseconds(slack).count());
        const rlimit limit{microseconds, microseconds};
        ::setrlimit(RLIMIT_RTTIME, &limit);
        int status = 125;
        try {
            status = children_[index].body();
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s: %s\n", children_[index].name.c_str(), error.what());
        }
        std::fflush(nullptr);
        ::_exit(status);
    }

    void start(std::size_t index, Outcome& outcome, const Signals& signals) {
        std::fflush(nullptr);  // or buffered text would be written by the child again
        const pid_t parent = ::getpid();
        const pid_t pid = ::fork();
        if (pid < 0) {
            throw std::system_error(errno, std::generic_category(), "cannot start " + children_[index].name);
        }
        if (pid == 0) {
            become_child(index, parent, signals);
        }
        ::setpgid(pid, pid);  // on both sides: whichever comes first, the group is there before it is needed
        pids_[index].pid = pid;
        pids_[index].fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
        if (pids_[index].fd < 0) {
            throw std::system_error(errno, std::generic_category(), "pidfd_open");
        }
        ChildStatus& status = outcome.children[index];
        status.pid = pid;
        status.running = true;
        status.code = 0;
        status.signal = 0;
        status.killed_by_supervisor = false;
        if (on_start) {
            on_start(index, status);
        }
    }

    // Collects one ended child. Its group is killed while its number still stands in the process table, so
    // that nothing it started outlives it and no stranger with the same number is hit.
    void reap(std::size_t index, Outcome& outcome) {
        Process& process = pids_[index];
        siginfo_t info{};
        while (::waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED | WNOWAIT) != 0 &&
               errno == EINTR) {
        }
        ::kill(-process.pid, SIGKILL);
        int status = 0;
        while (::waitpid(process.pid, &status, 0) < 0 && errno == EINTR) {
        }
        if (process.fd >= 0) {
            ::close(process.fd);
        }
        process = Process{};
        ChildStatus& child = outcome.children[index];
        child.running = false;
        child.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        child.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        // A child that had ended before our signal came did so of its own accord.
        child.killed_by_supervisor = ending() && (child.signal == SIGTERM || child.signal == SIGKILL);
    }

    [[nodiscard]] bool ending() const { return kill_at_ != 0; }

    // Asks every child to end; those that have not by the end of the grace are killed.
    void end_all() {
        if (ending()) {
            return;
        }
        kill_at_ = now_ms() + std::max<std::int64_t>(options_.grace.count(), 1);
        for (const Process& process : pids_) {
            if (process.pid > 0) {
                ::kill(-process.pid, SIGTERM);
            }
        }
    }

    void turn(Outcome& outcome, const Signals& signals) {
        std::vector<pollfd> events{{signals.fd(), POLLIN, 0}};
        std::vector<std::size_t> owners;
        for (std::size_t i = 0; i < pids_.size(); ++i) {
            if (pids_[i].pid > 0) {
                events.push_back({pids_[i].fd, POLLIN, 0});
                owners.push_back(i);
            }
        }
        const std::int64_t until = ending() ? kill_at_ : deadline_;
        const std::int64_t wait = std::clamp<std::int64_t>(until - now_ms(), 0, tick.count());
        if (::poll(events.data(), events.size(), static_cast<int>(wait)) < 0 && errno != EINTR) {
            throw std::system_error(errno, std::generic_category(), "poll");
        }
        if ((events[0].revents & POLLIN) != 0) {
            signalfd_siginfo info{};
            if (::read(signals.fd(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
                outcome.interrupted_by = static_cast<int>(info.ssi_signo);
                end_all();
            }
        }
        for (std::size_t i = 0; i < owners.size(); ++i) {
            if ((events[i + 1].revents & POLLIN) != 0) {
                ended(owners[i], outcome, signals);
            }
        }
        if (on_tick && !ending()) {
            on_tick(outcome.children);
        }
        if (now_ms() >= (ending() ? kill_at_ : deadline_) && any_running()) {
            expired(outcome);
        }
    }

    void ended(std::size_t index, Outcome& outcome, const Signals& signals) {
        reap(index, outcome);
        ChildStatus& status = outcome.children[index];
        if (on_death) {
            on_death(index, status);
        }
        if (ending()) {
            return;
        }
        if (status.failed() && status.restarts < children_[index].max_restarts) {
            ++status.restarts;
            start(index, outcome, signals);
        } else if (children_[index].ends_run) {
            end_all();
        }
    }

    void expired(Outcome& outcome) {
        if (!ending()) {
            outcome.timed_out = true;
            end_all();
            return;
        }
        for (const Process& process : pids_) {
            if (process.pid > 0) {
                ::kill(-process.pid, SIGKILL);
            }
        }
        kill_at_ =
            now_ms() + 1000;  // SIGKILL cannot be ignored; asked again if a child is stuck in the kernel
    }

    SupervisorOptions options_;
    std::vector<Child> children_;
    std::vector<Process> pids_;
    std::int64_t deadline_ = 0;
    std::int64_t kill_at_ = 0;
};

}  // namespace consort::linux_port
