// SPDX-License-Identifier: Apache-2.0
//
// One step in three builds, in turn in one process: native, as C of WebAssembly without and with what
// migration in mid-job needs; and its jobs moved at each safepoint between two instances, beside a bare copy
// of as many bytes. Prints JSON. MIGRATE_HEADER, MIGRATE_STEP, MIGRATE_OWNER: of the step.
#include MIGRATE_HEADER

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "consort/linux/guarded.hpp"
#include "consort/migrate/job.hpp"
#include "consort/task/step.hpp"

extern "C" const consort_migrate_module consort_migrate_job;
extern "C" const consort_migrate_module consort_migrate_plain;

// Found where the step's namespace has no function constants() of its own.
namespace consort_migrate_none {
inline consort::Empty constants() {
    return {};
}
}  // namespace consort_migrate_none
namespace MIGRATE_OWNER {
using namespace consort_migrate_none;
}

namespace {

using consort::linux_port::Guarded;
using consort::migrate::Job;
using consort::migrate::Refusal;
using Task = consort::Task<&::MIGRATE_STEP>;
using Clock = std::chrono::steady_clock;

double ns(Clock::time_point from) {
    return std::chrono::duration<double, std::nano>(Clock::now() - from).count();
}

double median(std::vector<double>& values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                     values.end());
    return values[values.size() / 2];
}

const auto constants_made = ::MIGRATE_OWNER::constants();

[[gnu::noinline]] void native(const Task::In& in, Task::State& state, Task::Out& out) {
    Task::call(constants_made, in, state, out);
}

[[noreturn]] void fail(const char* why) {
    std::fprintf(stderr, "%s\n", why);
    std::exit(1);
}

}  // namespace

extern "C" void consort_migrate_trap(std::uint32_t) {
    fail("a trap");
}

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 2000;
    const consort_migrate_module& module = consort_migrate_job;
    const Guarded here(module.instance_bytes, module.guarded != 0);
    const Guarded there(module.instance_bytes, module.guarded != 0);
    const Guarded apart(consort_migrate_plain.instance_bytes, consort_migrate_plain.guarded != 0);
    Job one(module, here.instance());
    Job other(module, there.instance());
    Job plain(consort_migrate_plain, apart.instance());
    const Task::In in{};
    const Task::State fresh{};
    Task::State state{};
    Task::Out out{};
    std::vector<unsigned char> image(one.longest());
    std::vector<double> natively, plainly, instrumented, taking, imaging, copying, over_copy, image_over_copy;
    std::uint32_t moves = 0;

    const auto compare = [&](const Job& job, const char* which) {
        Task::State state_there;
        Task::Out out_there;
        job.get_state(&state_there);
        job.get_out(&out_there);
        if (std::memcmp(&state, &state_there, sizeof state) != 0 ||
            std::memcmp(&out, &out_there, sizeof out) != 0) {
            fail(which);
        }
    };
    // Moves the job at every safepoint; how long all took.
    const auto moving = [&](bool images, std::vector<double>& into, const char* which) {
        Job* at = &one;
        Job* next = &other;
        one.begin(&in, &fresh);
        moves = 0;
        const Clock::time_point from = Clock::now();
        for (;;) {
            at->ask();
            if (at->run() == Job::End::done) {
                break;
            }
            const Refusal why =
                images ? next->load(image.data(), at->save(image.data(), at->longest())) : next->take(*at);
            if (why != Refusal::none) {
                fail(consort::migrate::name(why));
            }
            std::swap(at, next);
            ++moves;
        }
        into.push_back(ns(from));
        compare(*at, which);
    };

    // Between the same two memories, as many bytes as a move takes at the first safepoint.
    one.begin(&in, &fresh);
    one.ask();
    if (one.run() != Job::End::left) {
        fail("the step has no safepoint at which it leaves");
    }
    const std::uint32_t live = one.live();
    const auto copy = [&] {
        unsigned char* to = module.memory(there.instance(), 0, live);
        unsigned char* from_here = module.memory(here.instance(), 0, live);
        constexpr int copies = 64;
        const Clock::time_point from = Clock::now();
        for (int i = 0; i < copies; ++i) {
            std::memcpy(to, from_here, live);
            // The copy is looked at, and goes back next.
            asm volatile("" : : "r"(to), "r"(from_here) : "memory");
            std::swap(to, from_here);
        }
        copying.push_back(ns(from) / copies);
    };

    for (int round = 0; round < rounds; ++round) {
        state = fresh;
        Clock::time_point from = Clock::now();
        native(in, state, out);
        natively.push_back(ns(from));
        plain.begin(&in, &fresh);
        from = Clock::now();
        static_cast<void>(plain.run());
        plainly.push_back(ns(from));
        compare(plain, "the step as C of WebAssembly gives another result than the native one");
        one.begin(&in, &fresh);
        from = Clock::now();
        static_cast<void>(one.run());
        instrumented.push_back(ns(from));
        compare(one, "the instrumented step gives another result than the native one");
        moving(false, taking, "a job that moved gives another result than one that stayed");
        moving(true, imaging, "a job that moved as an image gives another result than one that stayed");
        copy();
        // Of one round: what other work does to the machine meets all of it.
        const double stayed = instrumented.back();
        over_copy.push_back((taking.back() - stayed) / moves / copying.back());
        image_over_copy.push_back((imaging.back() - stayed) / moves / copying.back());
    }
    const double stays = median(instrumented);
    std::printf(
        "{\"native_ns\": %.1f, \"plain_ns\": %.1f, \"job_ns\": %.1f, \"moves\": %u, \"live_bytes\": %u, "
        "\"move_ns\": %.1f, \"image_ns\": %.1f, \"copy_ns\": %.2f, \"over_copy\": %.4f, "
        "\"image_over_copy\": %.4f, \"rounds\": %d}\n",
        median(natively), median(plainly), stays, moves, live, (median(taking) - stays) / moves,
        (median(imaging) - stays) / moves, median(copying), median(over_copy), median(image_over_copy),
        rounds);
}
