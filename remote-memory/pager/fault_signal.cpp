// SPDX-License-Identifier: Apache-2.0
//
// SIGBUS: the access of a thread to an absent or write-protected page, served in that thread. Everything here
// may run at any point of the program, inside malloc for instance.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>

#include "pager.hpp"
#include "waiting.hpp"

#if defined(__aarch64__)
#include <asm/sigcontext.h>
#endif

namespace consort::remote::fault_signal {

namespace {

// A thread that looks at a pager is counted at its place: who removes it waits until nobody does.
struct Place {
    std::atomic<Pager*> pager{nullptr};
    std::atomic<std::uint32_t> users{0};
};
std::array<Place, 64> places;
std::mutex changing;
// A thread may fault on a page of a segment that has gone when its signal is looked at: the range is ordinary
// memory then, or nothing. Its access is repeated, once after each removal: a second signal is not of a
// segment.
std::atomic<std::uint32_t> removals{0};
__attribute__((tls_model("initial-exec"))) thread_local std::uint32_t removals_seen = 0;
// The program's own action for SIGBUS.
struct sigaction program_action {};
bool installed = false;
// Set while `install` runs: what it calls may be a preloaded `sigaction`, and must reach the kernel.
__attribute__((tls_model("initial-exec"))) thread_local bool installing = false;

// True if the access was a write. Where the processor's report is not known every access counts as one: the
// page is then taken for dirty, which costs a write-back and loses nothing.
bool is_write(const void* context) noexcept {
    [[maybe_unused]] const auto* user = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
    return (user->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#elif defined(__aarch64__)
    const auto* at = reinterpret_cast<const unsigned char*>(user->uc_mcontext.__reserved);
    const auto* end = at + sizeof user->uc_mcontext.__reserved;
    while (at + sizeof(_aarch64_ctx) <= end) {
        _aarch64_ctx head;
        std::memcpy(&head, at, sizeof head);
        if (head.size < sizeof head) {
            break;
        }
        if (head.magic == ESR_MAGIC) {
            esr_context report;
            std::memcpy(&report, at, sizeof report);
            return (report.esr & (1U << 6U)) != 0;
        }
        at += head.size;
    }
    return true;
#else
    return true;
#endif
}

// The program's action runs under the mask that it would have had, but with SIGBUS open: it may touch a
// segment. The kernel's own calls: what a program calls may lead to `set_program_action`.
void open_mask(const void* context, const sigset_t& more) noexcept {
    std::uint64_t mask = 0;
    std::uint64_t added = 0;
    std::memcpy(&mask, &static_cast<const ucontext_t*>(context)->uc_sigmask, sizeof mask);
    std::memcpy(&added, &more, sizeof added);
    mask = (mask | added) & ~(std::uint64_t{1} << (SIGBUS - 1));
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, nullptr, sizeof mask);
}

void pass_on(int number, siginfo_t* info, void* context) {
    const struct sigaction wanted = program_action;
    const bool sent = info->si_code <= 0;  // by kill(2) and its kin
    const bool handled =
        (wanted.sa_flags & SA_SIGINFO) != 0 || (wanted.sa_handler != SIG_DFL && wanted.sa_handler != SIG_IGN);
    if (!handled) {
        if (sent && wanted.sa_handler == SIG_IGN) {
            return;
        }
        // An access is repeated when this returns, and the kernel ends the program. All zeros is SIG_DFL.
        const std::array<unsigned long, 8> defaults{};
        ::syscall(SYS_rt_sigaction, SIGBUS, defaults.data(), nullptr, sizeof(std::uint64_t));
        if (sent) {
            ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), SIGBUS);
        }
        return;
    }
    if ((wanted.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
        program_action = {};
    }
    open_mask(context, wanted.sa_mask);
    if ((wanted.sa_flags & SA_SIGINFO) != 0) {
        wanted.sa_sigaction(number, info, context);
    } else {
        wanted.sa_handler(number);
    }
}

void on_sigbus(int number, siginfo_t* info, void* context) {
    const int error = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    if (info->si_code == BUS_ADRERR) {
        bool covered = false;
        for (Place& each : places) {
            // This, and `remove`, in one order that all threads agree on: it sees this user, or this one sees
            // that the pager is gone.
            each.users.fetch_add(1, std::memory_order_seq_cst);
            Pager* pager = each.pager.load(std::memory_order_seq_cst);
            const bool covers = pager != nullptr && pager->covers(address);
            bool served = false;
            if (covers && pager->abandoned()) {
                pager->complain(address, Outcome::forked);
            } else if (covers) {
                served = pager->serve_timed(address, is_write(context));
            }
            // Before the program's own action, which may jump elsewhere.
            each.users.fetch_sub(1, std::memory_order_release);
            if (served) {
                errno = error;
                return;
            }
            if (covers) {
                covered = true;
                break;
            }
        }
        const std::uint32_t removed = removals.load(std::memory_order_seq_cst);
        if (!covered && removals_seen != removed) {
            removals_seen = removed;
            errno = error;
            return;
        }
    }
    errno = error;
    pass_on(number, info, context);
}

void install() {
    installing = true;
    struct sigaction found {};
    // A program may have replaced ours since an earlier segment.
    if (::sigaction(SIGBUS, nullptr, &found) == 0 && installed && found.sa_sigaction == on_sigbus) {
        installing = false;
        return;
    }
    struct sigaction action {};
    action.sa_sigaction = on_sigbus;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
    // A signal handler of the program that touched a page which its own thread is bringing would wait for
    // ever: none runs until the page is there.
    ::sigfillset(&action.sa_mask);
    for (const int open : {SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP}) {
        ::sigdelset(&action.sa_mask, open);
    }
    const bool done = ::sigaction(SIGBUS, &action, &program_action) == 0;
    installing = false;
    if (!done) {
        throw std::system_error(errno, std::generic_category(), "sigaction(SIGBUS)");
    }
    installed = true;
}

// The child has no segment, and nothing else may come to lie where the parent has one.
void in_child() {
    bool any = false;
    for (Place& each : places) {
        each.users.store(0, std::memory_order_relaxed);  // of threads that the child has not
        if (Pager* pager = each.pager.load(std::memory_order_acquire); pager != nullptr) {
            pager->abandon();
            any = true;
        }
    }
    changing.unlock();
    if (any) {
        install();
    }
}

}  // namespace

void add(Pager* pager, bool in_thread) {
    const std::lock_guard lock(changing);
    if (in_thread) {
        install();
    }
    static const bool forks_seen = [] {
        ::pthread_atfork([] { changing.lock(); }, [] { changing.unlock(); }, in_child);
        return true;
    }();
    static_cast<void>(forks_seen);
    for (Place& each : places) {
        Pager* none = nullptr;
        if (each.pager.compare_exchange_strong(none, pager)) {
            return;
        }
    }
    throw std::system_error(ENOSPC, std::generic_category(), "a program has at most 64 segments");
}

void remove(Pager* pager) noexcept {
    // Before the pager goes: a thread that finds none knows that one was removed.
    removals.fetch_add(1, std::memory_order_seq_cst);
    for (Place& each : places) {
        Pager* found = pager;
        if (each.pager.compare_exchange_strong(found, nullptr)) {
            for (Patience patience; each.users.load(std::memory_order_seq_cst) != 0;) {
                patience.wait();
            }
        }
    }
}

bool set_program_action(const struct sigaction* action, struct sigaction* previous) noexcept {
    if (installing) {
        return false;
    }
    const std::lock_guard lock(changing);
    if (!installed) {
        return false;
    }
    const struct sigaction before = program_action;
    if (action != nullptr) {
        program_action = *action;
    }
    if (previous != nullptr) {
        *previous = before;
    }
    return true;
}

}  // namespace consort::remote::fault_signal
