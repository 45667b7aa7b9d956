// SPDX-License-Identifier: Apache-2.0
//
// The loop that a programmer would write by hand for one periodic step: clock_nanosleep to an absolute time,
// the step, again. It notes how late each release was, in memory, and records nothing else.
//
//   loop --cpu N --priority N --period-ns N --jobs N
//
// Prints one line of JSON: {"lateness_ns": [of each job; null: passed over], "cpu_ns": CPU time of the loop,
// "policy": ...}.
#include <time.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "consort/linux/clock.hpp"
#include "consort/linux/realtime.hpp"
#include "step.hpp"

namespace {

constexpr std::uint64_t unserved = ~std::uint64_t{0};

struct Arguments {
    int cpu = -1;
    int priority = 0;
    std::uint64_t period_ns = 0;
    std::uint64_t jobs = 0;
};

bool read_arguments(int argc, char** argv, Arguments& found) {
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        char* end = nullptr;
        const std::uint64_t value = std::strtoull(argv[i + 1], &end, 10);
        if (*end != '\0') {
            return false;
        }
        if (name == "--cpu") {
            found.cpu = static_cast<int>(value);
        } else if (name == "--priority") {
            found.priority = static_cast<int>(value);
        } else if (name == "--period-ns") {
            found.period_ns = value;
        } else if (name == "--jobs") {
            found.jobs = value;
        } else {
            return false;
        }
    }
    return argc == 9 && found.period_ns != 0 && found.jobs != 0;
}

}  // namespace

int main(int argc, char** argv) {
    using consort::linux_port::clock_ns;
    Arguments given;
    if (!read_arguments(argc, argv, given)) {
        std::fprintf(stderr, "usage: loop --cpu N --priority N --period-ns N --jobs N\n");
        return 2;
    }
    // Its preparation is not part of the loop: the same as that of the executive's threads.
    consort::linux_port::RealtimeOptions options;
    options.cpu = given.cpu;
    options.priority = given.priority;
    const consort::linux_port::RealtimeGuard guard(options);
    std::vector<std::uint64_t> late(given.jobs, 0);
    filter::In in{};
    filter::State state{};
    filter::Out out{};
    std::uint64_t next = clock_ns(CLOCK_MONOTONIC) + 20'000'000U;
    const std::uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (std::uint64_t job = 0; job < given.jobs; ++job) {
        next += given.period_ns;
        const timespec time{static_cast<time_t>(next / 1'000'000'000U),
                            static_cast<long>(next % 1'000'000'000U)};
        while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
        }
        late[job] = clock_ns(CLOCK_MONOTONIC) - next;
        if (late[job] > given.period_ns) {
            late[job] = unserved;  // as in the executive: its deadline has passed
            continue;
        }
        in.sample = static_cast<float>(job % 512);
        filter::step(in, state, out);
        asm volatile("" ::"r"(&out) : "memory");
    }
    const std::uint64_t spent = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
    std::printf("{\"policy\": \"%s\", \"cpu_ns\": %llu, \"lateness_ns\": [", guard.achieved().policy.c_str(),
                static_cast<unsigned long long>(spent));
    for (std::uint64_t job = 0; job < given.jobs; ++job) {
        const std::string text = late[job] == unserved ? "null" : std::to_string(late[job]);
        std::printf("%s%s", job == 0 ? "" : ", ", text.c_str());
    }
    std::printf("]}\n");
    return 0;
}
