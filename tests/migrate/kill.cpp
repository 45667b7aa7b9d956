// SPDX-License-Identifier: Apache-2.0
//
// Two processes hand a task to one another in shared memory, and one or both are killed at random instants.
//
//   kill DEATHS [SEED]
//
// Exit status 0: after each death the task went on, with the state of the last committed job, on one side at
// a time. 1: not so, which is said. 2: wrong arguments.
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "consort/migrate/hand_over.hpp"

namespace {

// 172 bytes: what the hand-over's bound is measured with.
constexpr std::uint32_t size = 43;
using Side = consort::migrate::HandOver<size>;

enum Phase : std::uint32_t { waits, takes, runs, commits, gives, takes_over, phases };
const char* const names[phases] = {"waiting", "taking", "running", "committing", "giving", "taking over"};

struct Shared {
    alignas(64) std::uint32_t words[consort::migrate::shared_words(size)];
    struct alignas(64) Line {
        std::atomic<std::uint32_t> running{0};
        std::atomic<std::uint32_t> phase{waits};
        std::atomic<std::uint32_t> committed{0};
        std::atomic<std::uint32_t> gave{0};
        std::atomic<std::uint32_t> take_over{0};  // the parent's: the other side is dead
    } sides[2];
    std::atomic<std::uint32_t> wrong{
        0};  // 1: two at once, 2: a state of no job, 3: not that of the last committed one
};

std::uint32_t expected(std::uint32_t job, std::uint32_t word) {
    return job == 0 ? 0 : job * 1000003U + word * 7919U;
}

std::uint64_t next_random(std::uint64_t& state) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    return state;
}

// A while before and after each access, so that deaths come between any two of them.
class Slowly {
  public:
    Slowly(std::uint32_t* words, std::uint64_t random) : words_(words), random_(random) {}
    [[nodiscard]] std::uint32_t load(std::uint32_t index) noexcept {
        const std::uint32_t found = words_.load(index);
        pause();
        return found;
    }
    void store(std::uint32_t index, std::uint32_t value) noexcept {
        pause();
        words_.store(index, value);
        pause();
    }

  private:
    void pause() noexcept {
        for (std::uint64_t left = next_random(random_) % 512; left != 0; --left) {
            asm volatile("");
        }
    }
    consort::migrate::WordsAt words_;
    std::uint64_t random_;
};

[[noreturn]] void run_side(Shared& shared, std::uint32_t self, std::uint64_t random) {
    Side side(self);
    Slowly words(shared.words, random);
    Shared::Line& mine = shared.sides[self];
    for (;;) {
        if (mine.take_over.load() != 0) {
            mine.phase = takes_over;
            while (!side.take_over(words)) {
            }
            mine.take_over = 0;
            mine.phase = waits;
        }
        if (!side.poll(words)) {
            continue;
        }
        mine.phase = runs;
        mine.running.store(1);
        if (shared.sides[1 - self].running.load() != 0) {
            shared.wrong = 1;
        }
        // A side that died may have committed one job more than it could say.
        const std::uint32_t known = std::max(mine.committed.load(), shared.sides[1 - self].committed.load());
        if (side.number() != known && side.number() != known + 1) {
            shared.wrong = 3;
        }
        for (std::uint32_t i = 0; i < size; ++i) {
            if (side.state()[i] != expected(side.number(), i)) {
                shared.wrong = 2;
            }
            side.state()[i] = expected(side.number() + 1, i);
        }
        mine.phase = commits;
        while (!side.save(words)) {
        }
        mine.committed = side.number();
        mine.running.store(0);
        if (next_random(random) % 3 == 0) {
            mine.phase = gives;
            mine.gave.fetch_add(1);
            side.give(words);
        }
        mine.phase = takes;
    }
}

std::uint64_t now_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(time.tv_nsec);
}

class Campaign {
  public:
    Campaign(Shared& shared, std::uint64_t seed) : shared_(shared), random_(seed * 2 + 1) {}

    int run(std::uint32_t deaths) {
        start(0);
        start(1);
        while (deaths_ < deaths) {
            wait_us(next_random(random_) % 200);
            const std::uint32_t victim = next_random(random_) % 2;
            end(victim);
            if (next_random(random_) % 2 == 0) {
                take_over(1 - victim);
            }
            start(victim);
            if (!goes_on()) {
                end(0);
                end(1);
                return 1;
            }
        }
        end(0);
        end(1);
        std::printf("%" PRIu32 " processes killed", deaths_);
        for (std::uint32_t phase = takes; phase < phases; ++phase) {
            std::printf(", %" PRIu32 " %s", during_[phase], names[phase]);
        }
        std::printf("; %" PRIu32 " hand-overs, %" PRIu32 " take-overs, %" PRIu32
                    " jobs: one side at a time, none lost or double\n",
                    shared_.sides[0].gave.load() + shared_.sides[1].gave.load(), take_overs_, committed());
        return 0;
    }

  private:
    void start(std::uint32_t side) {
        const std::uint64_t seed = next_random(random_);
        const pid_t parent = ::getpid();
        const pid_t child = ::fork();
        if (child == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() != parent) {
                ::_exit(1);
            }
            run_side(shared_, side, seed | 1U);
        }
        if (child < 0) {
            std::perror("fork");
            std::exit(1);
        }
        processes_[side] = child;
    }
    // Once it is reaped it writes nothing any more.
    void end(std::uint32_t side) {
        ::kill(processes_[side], SIGKILL);
        ::waitpid(processes_[side], nullptr, 0);
        ++deaths_;
        ++during_[shared_.sides[side].phase.load()];
        shared_.sides[side].phase = waits;
        shared_.sides[side].running = 0;
    }
    // The one that takes over may be killed as well: then both are started again.
    void take_over(std::uint32_t side) {
        ++take_overs_;
        shared_.sides[side].take_over = 1;
        if (next_random(random_) % 4 == 0) {
            wait_us(next_random(random_) % 20);
            end(side);
            shared_.sides[side].take_over = 0;
            start(side);
            return;
        }
        while (shared_.sides[side].take_over.load() != 0) {
            ::sched_yield();
        }
    }
    [[nodiscard]] std::uint32_t committed() const {
        const std::uint32_t a = shared_.sides[0].committed.load();
        const std::uint32_t b = shared_.sides[1].committed.load();
        return a > b ? a : b;
    }
    // Exactly one side runs the task: more jobs are committed, each from the one before it.
    bool goes_on() {
        const std::uint32_t before = committed();
        const std::uint64_t until = now_ns() + 60'000'000'000U;
        while (committed() <= before && shared_.wrong.load() == 0) {
            if (now_ns() > until) {
                std::printf("after %" PRIu32 " deaths neither side runs the task\n", deaths_);
                return false;
            }
            ::sched_yield();
        }
        if (const std::uint32_t wrong = shared_.wrong.load(); wrong != 0) {
            std::printf("after %" PRIu32 " deaths %s\n", deaths_,
                        wrong == 1   ? "both sides run the task"
                        : wrong == 2 ? "a state is not that of its job"
                                     : "committed jobs are lost, or computed again");
            return false;
        }
        return true;
    }
    static void wait_us(std::uint64_t us) {
        const std::uint64_t until = now_ns() + us * 1000;
        while (now_ns() < until) {
            ::sched_yield();
        }
    }

    Shared& shared_;
    std::uint64_t random_;
    pid_t processes_[2] = {0, 0};
    std::uint32_t deaths_ = 0;
    std::uint32_t take_overs_ = 0;
    std::uint32_t during_[phases] = {};
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2 || argc > 3 || std::atoi(argv[1]) <= 0) {
        std::fprintf(stderr, "usage: kill DEATHS [SEED]\n");
        return 2;
    }
    void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("mmap");
        return 1;
    }
    Campaign campaign(*new (memory) Shared{}, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
    return campaign.run(static_cast<std::uint32_t>(std::atoi(argv[1])));
}
