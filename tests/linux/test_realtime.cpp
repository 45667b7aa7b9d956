// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstring>
#include <thread>

#include "consort/linux/locked_buffer.hpp"
#include "consort/linux/realtime.hpp"

using namespace consort::linux_port;

TEST(Realtime, IsTakenBackAtTheEndOfTheScope) {
    const int policy = ::sched_getscheduler(0);
    const CpuList cpus = available_cpus();
    {
        RealtimeOptions options;
        options.cpu = cpus.back();
        options.priority = 10;
        const RealtimeGuard guard(options);
        EXPECT_EQ(guard.achieved().cpu, cpus.back());
        EXPECT_EQ(available_cpus(), CpuList{cpus.back()});
        if (guard.achieved().policy != "SCHED_FIFO") {
            // Each refusal has a note, and the rest was done all the same.
            EXPECT_FALSE(guard.achieved().notes.empty());
        } else {
            EXPECT_EQ(::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, SCHED_FIFO);
        }
    }
    EXPECT_EQ(::sched_getscheduler(0), policy);
    EXPECT_EQ(available_cpus(), cpus);
}

// Once and for all; the processor is still known.
TEST(Realtime, AThreadLeavesRestartableSequences) {
    bool first = false;
    bool again = true;
    std::thread([&] {
        const CpuList cpus = available_cpus();
        set_affinity({cpus.back()});
        first = leave_restartable_sequences();
        again = leave_restartable_sequences();
        EXPECT_EQ(::sched_getcpu(), cpus.back());
    }).join();
#if defined(RSEQ_SIG)
    EXPECT_EQ(first, __rseq_size != 0);
#endif
    EXPECT_FALSE(again);
}

TEST(Realtime, LackOfPermissionIsANoteNotAFailure) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer replaces mlockall by nothing, which never fails";
#endif
    if (::geteuid() != 0) {
        GTEST_SKIP() << "needs root to give its permissions up in a child";
    }
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_RTPRIO, &none);
        ::setrlimit(RLIMIT_MEMLOCK, &none);
        if (::setuid(65'534) != 0) {
            ::_exit(90);
        }
        RealtimeOptions options;
        options.cpu = 60'000;
        const Realtime got = enter_realtime(options);
        const bool said = got.notes.size() >= 4 && got.cpu == -1 && got.policy == "SCHED_OTHER" &&
                          !got.mlockall && !got.cpu_dma_latency;
        ::_exit(said ? 0 : static_cast<int>(10 + got.notes.size()));
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(LockedBuffer, IsAlignedZeroAndWritable) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{5'000}, std::size_t{5} << 20U}) {
        LockedBuffer buffer(bytes);
        ASSERT_EQ(buffer.size(), bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 4096, 0U);
        EXPECT_EQ(buffer.data()[bytes - 1], std::byte{0});
        std::memset(buffer.data(), 7, bytes);
        if (buffer.pages() != Pages::huge) {
            EXPECT_FALSE(buffer.notes().empty()) << "what was not got has a note";
        }
    }
}

TEST(LockedBuffer, MovesItsMemory) {
    LockedBuffer first(100);
    first.data()[3] = std::byte{42};
    LockedBuffer second(std::move(first));
    EXPECT_EQ(second.data()[3], std::byte{42});
    LockedBuffer third;
    third = std::move(second);
    EXPECT_EQ(third.data()[3], std::byte{42});
    EXPECT_EQ(third.size(), 100U);
}

TEST(LockedBuffer, RefusesMoreThanTheMachineHas) {
    EXPECT_THROW(LockedBuffer(std::size_t{1} << 50U), std::system_error);
}
