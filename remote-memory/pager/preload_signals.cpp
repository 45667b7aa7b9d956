// SPDX-License-Identifier: Apache-2.0
//
// A program whose faults come by SIGBUS may not take that signal away, or block it, as many programs do with
// all signals. The kernel ends a program whose fault finds SIGBUS blocked.
#include <pthread.h>
#include <signal.h>

#include "pager.hpp"
#include "preload.hpp"

namespace {

using namespace consort::remote::preloaded;

// The set as the kernel gets it: a copy without SIGBUS where that must stay open.
const sigset_t* opened(const sigset_t* set, sigset_t& copy) {
    if (!in_thread || inside || set == nullptr) {
        return set;
    }
    copy = *set;
    ::sigdelset(&copy, SIGBUS);
    return &copy;
}

}  // namespace

CONSORT_EXPORT int sigaction(int number, const struct sigaction* action,
                             struct sigaction* previous) noexcept {
    if (number == SIGBUS && !inside && consort::remote::fault_signal::set_program_action(action, previous)) {
        return 0;
    }
    static auto* const real = original<int(int, const struct sigaction*, struct sigaction*)>("sigaction");
    struct sigaction copy {};
    if (action != nullptr) {
        copy = *action;
        opened(&action->sa_mask, copy.sa_mask);
        action = &copy;
    }
    return real(number, action, previous);
}

CONSORT_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
    struct sigaction wanted {};
    struct sigaction before {};
    wanted.sa_handler = handler;
    wanted.sa_flags = SA_RESTART;
    return ::sigaction(number, &wanted, &before) == 0 ? before.sa_handler : SIG_ERR;
}

CONSORT_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
    static auto* const real = original<int(int, const sigset_t*, sigset_t*)>("sigprocmask");
    sigset_t copy;
    return real(how, how == SIG_UNBLOCK ? set : opened(set, copy), before);
}

CONSORT_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
    static auto* const real = original<int(int, const sigset_t*, sigset_t*)>("pthread_sigmask");
    sigset_t copy;
    return real(how, how == SIG_UNBLOCK ? set : opened(set, copy), before);
}
