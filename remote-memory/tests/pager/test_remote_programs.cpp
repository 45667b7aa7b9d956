// SPDX-License-Identifier: Apache-2.0
//
// Programs with habits that do not suit a pager: signal handlers that touch a segment, blocked signals, fork,
// closed descriptors, locked memory. Each reads what was written, or ends with SIGBUS; never zeros.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <csignal>
#include <cstring>

#include "remote_support.hpp"

namespace {

using namespace remote_test;

class Program : public Remote, public testing::WithParamInterface<Faults> {
  protected:
    void SetUp() override {
        Remote::SetUp();
        std::string why;
        if (!can_page(GetParam(), why)) {
            GTEST_SKIP() << why;
        }
        start();
    }
    [[nodiscard]] SegmentOptions chosen(const std::string& where) const {
        SegmentOptions made = options(where, 4 * mib);
        made.faults = GetParam();
        return made;
    }
    static void fill(const Segment& segment) { std::memset(segment.data(), 'x', segment.bytes()); }
    static bool is_filled(const Segment& segment) {
        const auto* bytes = static_cast<const char*>(segment.data());
        for (std::size_t at = 0; at < segment.bytes(); at += page_bytes / 2) {
            if (bytes[at] != 'x') {
                return false;
            }
        }
        return true;
    }
};

#if !defined(__SANITIZE_THREAD__)  // it runs the program's handlers late, with SIGBUS blocked
std::atomic<char*> touched{nullptr};
std::atomic<unsigned> handled{0};

// Writes to words of its own, a page further each time.
void on_alarm(int) {
    const unsigned turn = handled.load();
    char* page = touched.load() + turn * 37 % (4 * mib / page_bytes) * page_bytes;
    page[page_bytes - 1] = static_cast<char>(page[page_bytes - 1] + 1);
    handled = turn + 1;
}

// The thread that brings a page, or discards one, runs no handler meanwhile that would wait for that page.
TEST_P(Program, ASignalHandlerTouchesTheSegment) {
    Segment segment(chosen(tcp()));
    auto* bytes = static_cast<char*>(segment.data());
    touched = bytes;
    handled = 0;
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGALRM, &action, &before);
    const itimerval often{{0, 500}, {0, 500}};
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &often, nullptr);
    for (unsigned pass = 0; handled < 60; ++pass) {
        for (std::size_t at = 0; at < segment.bytes(); at += page_bytes) {
            bytes[at] = static_cast<char>(pass);
        }
        for (std::size_t at = 0; at < segment.bytes(); at += page_bytes) {
            ASSERT_EQ(bytes[at], static_cast<char>(pass)) << at;
        }
        segment.discard(0, page_bytes);
    }
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before, nullptr);
    EXPECT_FALSE(segment.lost());
}
#endif

// A userfaultfd that is closed leaves zeros where pages are absent: it must not close with the program's
// files.
TEST_P(Program, ClosesAllDescriptors) {
    const auto body = [&] {
        const Segment segment(chosen(tcp()));
        fill(segment);
        ::syscall(SYS_close_range, 3, ~0U, 0);
        ::_exit(is_filled(segment) ? 0 : 9);
    };
    if (GetParam() == Faults::in_thread) {
        // The faulting thread has the program's table: it says so.
        EXPECT_EXIT(body(), testing::KilledBySignal(SIGBUS), "SIGBUS at 0x");
    } else {
        EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
    }
}

TEST_P(Program, LocksItsMemory) {
    const auto body = [&] {
        if (::mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
            ::_exit(0);
        }
        const Segment segment(chosen(path));
        fill(segment);
        if (!is_filled(segment) || ::mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
            ::_exit(8);
        }
        fill(segment);
        ::_exit(is_filled(segment) && segment.counters().evicted > 0 ? 0 : 9);
    };
    EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

// A child has no segment: an access ends it, with words, and nothing that it maps comes to lie there.
TEST_P(Program, Forks) {
    const Segment segment(chosen(path));
    fill(segment);
    const auto body = [&] {
        const auto* first = static_cast<const char*>(segment.data());
        for (int i = 0; i < 20; ++i) {
            auto* made = static_cast<char*>(
                ::mmap(nullptr, mib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
            if (made + mib > first && made < first + segment.bytes()) {
                ::_exit(9);
            }
        }
        ::_exit(*static_cast<const volatile char*>(first));
    };
    EXPECT_EXIT(body(), testing::KilledBySignal(SIGBUS),
                "a child after fork.. has no remote memory; SIGBUS at");
    EXPECT_TRUE(is_filled(segment));
}

TEST_P(Program, BlocksItsSignalsAndLosesItsServer) {
    const auto body = [&] {
        const Segment segment(chosen(tcp()));
        fill(segment);
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
        ::kill(server, SIGKILL);
        ::_exit(is_filled(segment) ? 8 : 9);
    };
    EXPECT_EXIT(body(), testing::KilledBySignal(SIGBUS), "");
}

INSTANTIATE_TEST_SUITE_P(All, Program, testing::Values(Faults::in_thread, Faults::handler),
                         [](const auto& info) {
                             return info.param == Faults::in_thread ? "InThread" : "Handler";
                         });

volatile std::sig_atomic_t own_signals = 0;

// SIGBUS that is of no segment is the program's.
class OwnSignal : public Program {};
TEST_P(OwnSignal, IsPassedOn) {
    const auto attached = [&](void (*handler)(int), int flags) {
        struct sigaction action {};
        action.sa_handler = handler;
        action.sa_flags = flags;
        ::sigaction(SIGBUS, &action, nullptr);
        return std::make_unique<Segment>(chosen(path));
    };
    EXPECT_EXIT(
        {
            const auto segment = attached(SIG_DFL, 0);
            ::raise(SIGBUS);
            ::_exit(9);
        },
        testing::KilledBySignal(SIGBUS), "");
    EXPECT_EXIT(
        {
            const auto segment = attached(SIG_IGN, 0);
            ::raise(SIGBUS);
            ::_exit(is_filled(*segment) ? 9 : 0);
        },
        testing::ExitedWithCode(0), "");
    EXPECT_EXIT(
        {
            const auto segment =
                attached([](int) { own_signals = own_signals + 1; }, static_cast<int>(SA_RESETHAND));
            fill(*segment);
            ::raise(SIGBUS);
            if (own_signals != 1 || !is_filled(*segment)) {
                ::_exit(9);
            }
            ::raise(SIGBUS);  // the handler was for one
            ::_exit(8);
        },
        testing::KilledBySignal(SIGBUS), "");
}
// A signal of an access that was made while its segment was there, looked at when it had gone: the access is
// repeated. The next one is the program's.
TEST_P(OwnSignal, OfASegmentThatHasGoneRepeatsTheAccess) {
    struct sigaction action {};
    action.sa_handler = [](int) { own_signals = own_signals + 1; };
    ::sigaction(SIGBUS, &action, nullptr);
    own_signals = 0;
    const auto stays = std::make_unique<Segment>(chosen(path));
    siginfo_t late{};
    late.si_signo = SIGBUS;
    late.si_code = BUS_ADRERR;
    late.si_addr = std::make_unique<Segment>(chosen(path))->data();
    const auto arrives = [&] {
        ASSERT_EQ(::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), ::syscall(SYS_gettid), SIGBUS, &late), 0);
    };
    arrives();
    EXPECT_EQ(own_signals, 0);
    arrives();
    EXPECT_EQ(own_signals, 1);
    fill(*stays);
    EXPECT_TRUE(is_filled(*stays));
    ::signal(SIGBUS, SIG_DFL);
}
INSTANTIATE_TEST_SUITE_P(All, OwnSignal, testing::Values(Faults::in_thread),
                         [](const auto&) { return "InThread"; });

}  // namespace
