// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "consort/linux/watchdog.hpp"
#include "temporary.hpp"

using namespace consort::linux_port;
using std::chrono::milliseconds;

namespace {

SupervisorOptions within(int limit_ms, int grace_ms = 50) {
    return {milliseconds(limit_ms), milliseconds(grace_ms), 95};
}

int sleep_for_ever() {
    for (;;) {
        ::pause();
    }
}

[[noreturn]] void spin_for_ever() {
    for (volatile unsigned turn = 0;;) {
        turn = turn + 1;
    }
}

bool alive(pid_t pid) {
    return ::kill(pid, 0) == 0;
}

// SIGTERM is blocked while one exists, and in children from their first instant: on a busy machine a child
// may be asked to end before it has done anything.
class Deaf {
  public:
    Deaf() { change(SIG_BLOCK); }
    Deaf(const Deaf&) = delete;
    Deaf& operator=(const Deaf&) = delete;
    ~Deaf() { change(SIG_UNBLOCK); }
    static void change(int how) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        ::sigprocmask(how, &set, nullptr);
    }
};

// Waits for a process to be gone (a zombie of a parent elsewhere counts as gone); CTest ends a test that
// hangs.
void wait_until_gone(pid_t pid) {
    for (;;) {
        std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
        std::string line;
        if (!alive(pid) || !std::getline(file, line) || line.find(") Z ") != std::string::npos) {
            return;
        }
        std::this_thread::sleep_for(milliseconds(10));
    }
}

}  // namespace

TEST(Supervisor, ReturnsWhatTheChildrenReturned) {
    Supervisor supervisor(within(20'000));
    supervisor.add({"good", [] { return 0; }, false, 0});
    supervisor.add({"bad", [] { return 7; }, false, 0});
    const Outcome outcome = supervisor.run();
    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.children[0].code, 0);
    EXPECT_EQ(outcome.children[1].code, 7);
    EXPECT_FALSE(outcome.good());
}

TEST(Supervisor, EndsAtItsTimeBoundEvenWhenSigtermIsIgnored) {
    // The polite one has so long to hear.
    Supervisor supervisor(within(100, 1000));
    const Deaf deaf;
    supervisor.add({"polite",
                    [] {
                        Deaf::change(SIG_UNBLOCK);
                        return sleep_for_ever();
                    },
                    false, 0});
    supervisor.add({"quick", [] { return 0; }, false, 0});
    supervisor.add({"stubborn", sleep_for_ever, false, 0});
    const Outcome outcome = supervisor.run();
    EXPECT_TRUE(outcome.timed_out);
    EXPECT_EQ(outcome.children[0].signal, SIGTERM);
    EXPECT_EQ(outcome.children[2].signal, SIGKILL);
    EXPECT_TRUE(outcome.children[2].killed_by_supervisor);
    EXPECT_EQ(outcome.ended_by_supervisor(), "polite, stubborn");
}

// The case that locks up a machine: a busy SCHED_FIFO thread on every core, deaf to SIGTERM.
TEST(Supervisor, EndsBusyRealtimeThreadsOnEveryCore) {
    Supervisor supervisor(within(300, 100));
    const Deaf deaf;
    const CpuList cpus = available_cpus();
    for (const int cpu : cpus) {
        supervisor.add({"spinner",
                        [cpu]() -> int {
                            RealtimeOptions options;
                            options.cpu = cpu;
                            options.lock_memory = false;
                            const Realtime got = enter_realtime(options);
                            if (got.policy != "SCHED_FIFO") {
                                return 77;
                            }
                            spin_for_ever();
                        },
                        false, 0});
    }
    const Outcome outcome = supervisor.run();
    if (outcome.children[0].code == 77) {
        GTEST_SKIP() << "SCHED_FIFO is refused here: the machine cannot be locked up either";
    }
    EXPECT_TRUE(outcome.timed_out);
    for (const ChildStatus& child : outcome.children) {
        EXPECT_EQ(child.signal, SIGKILL);
    }
}

TEST(Supervisor, EndsTheOthersWhenTheMasterEnds) {
    Supervisor supervisor(within(20'000));
    supervisor.add({"master", [] { return 0; }, true, 0});
    supervisor.add({"worker", sleep_for_ever, false, 0});
    const Outcome outcome = supervisor.run();
    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.children[1].signal, SIGTERM);
    EXPECT_TRUE(outcome.children[1].killed_by_supervisor);
    EXPECT_TRUE(outcome.good());
}

TEST(Supervisor, NamesAWorkerThatWasKilledAndStartsItAgain) {
    Supervisor supervisor(within(20'000));
    std::vector<ChildStatus> deaths;
    int starts = 0;
    supervisor.on_start = [&](std::size_t, const ChildStatus& child) {
        if (++starts <= 2) {
            ::kill(child.pid, SIGKILL);
        } else {
            ::kill(child.pid, SIGUSR1);
        }
    };
    supervisor.on_death = [&](std::size_t, const ChildStatus& child) { deaths.push_back(child); };
    supervisor.add({"worker", sleep_for_ever, false, 2});
    const Outcome outcome = supervisor.run();
    ASSERT_EQ(deaths.size(), 3U);
    EXPECT_EQ(deaths[0].name, "worker");
    EXPECT_EQ(deaths[0].signal, SIGKILL);
    EXPECT_FALSE(deaths[0].killed_by_supervisor);
    EXPECT_EQ(outcome.children[0].restarts, 2U);
    EXPECT_EQ(outcome.children[0].signal, SIGUSR1);
    EXPECT_FALSE(outcome.good());
}

TEST(Supervisor, EndsEverythingWhenAskedTo) {
    Supervisor supervisor(within(20'000));
    supervisor.on_start = [](std::size_t index, const ChildStatus&) {
        if (index == 1) {
            ::kill(::getpid(), SIGTERM);
        }
    };
    supervisor.add({"a", sleep_for_ever, false, 0});
    supervisor.add({"b", sleep_for_ever, false, 0});
    const Outcome outcome = supervisor.run();
    EXPECT_EQ(outcome.interrupted_by, SIGTERM);
    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.children[0].signal, SIGTERM);
}

TEST(Supervisor, KilledItselfTakesItsChildrenAlong) {
    int channel[2];
    ASSERT_EQ(::pipe(channel), 0);
    const pid_t supervisor_pid = ::fork();
    if (supervisor_pid == 0) {
        Supervisor supervisor(within(20'000));
        supervisor.on_start = [&](std::size_t, const ChildStatus& child) {
            if (::write(channel[1], &child.pid, sizeof child.pid) < 0) {
                ::_exit(1);
            }
        };
        supervisor.add({"worker", sleep_for_ever, false, 0});
        supervisor.run();
        ::_exit(0);
    }
    pid_t worker = -1;
    ASSERT_EQ(::read(channel[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
    ::kill(supervisor_pid, SIGKILL);
    int status = 0;
    ::waitpid(supervisor_pid, &status, 0);
    wait_until_gone(worker);
    ::close(channel[0]);
    ::close(channel[1]);
}

TEST(Supervisor, LeavesNoGrandchildBehind) {
    int channel[2];
    ASSERT_EQ(::pipe(channel), 0);
    Supervisor supervisor(within(20'000));
    supervisor.add({"parent",
                    [&] {
                        const pid_t grandchild = ::fork();
                        if (grandchild == 0) {
                            sleep_for_ever();
                        }
                        return ::write(channel[1], &grandchild, sizeof grandchild) == sizeof grandchild ? 0
                                                                                                        : 1;
                    },
                    false, 0});
    const Outcome outcome = supervisor.run();
    EXPECT_TRUE(outcome.good());
    pid_t grandchild = -1;
    ASSERT_EQ(::read(channel[0], &grandchild, sizeof grandchild), static_cast<ssize_t>(sizeof grandchild));
    wait_until_gone(grandchild);
    ::close(channel[0]);
    ::close(channel[1]);
}

TEST(Supervisor, AnExceptionInAChildIsItsFailure) {
    Supervisor supervisor(within(20'000));
    supervisor.add({"thrower", []() -> int { throw std::runtime_error("thrown on purpose"); }, false, 0});
    EXPECT_EQ(supervisor.run().children[0].code, 125);
}
