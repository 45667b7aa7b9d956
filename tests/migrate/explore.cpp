// SPDX-License-Identifier: Apache-2.0
//
// The hand-over of a task between two sides, explored completely: every order of their accesses to shared
// words, with a death of either at each of them, restarts and take-overs. Then at random with a state of 172
// bytes.
//
//   explore MOST DEATHS    at most MOST deaths and MOST hand-overs in a run of three jobs; DEATHS at random
//
// Exit status 0: at every instant at most one side may run the task, with the state of the last committed
// job; wherever both are left alone, exactly one goes on. 1: not so, which is shown. 2: wrong arguments.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "consort/app/release.hpp"
#include "consort/migrate/hand_over.hpp"

namespace {

using consort::migrate::HandOver;

template <std::uint32_t size>
struct Memory {
    std::uint32_t words[consort::migrate::shared_words(size)] = {};
    std::uint32_t load(std::uint32_t index) noexcept { return words[index]; }
    void store(std::uint32_t index, std::uint32_t value) noexcept { words[index] = value; }
};

std::uint32_t expected(std::uint32_t job, std::uint32_t word) {
    return job == 0 ? 0 : job * 1000003U + word * 7919U;
}

enum class Act : std::uint8_t { step, run, give, die, take_over, restart };

// All of it, as plain data.
template <std::uint32_t size>
struct World {
    Memory<size> memory;
    HandOver<size> sides[2] = {HandOver<size>(0), HandOver<size>(1)};
    bool alive[2] = {true, true};
    bool ready[2] = {};
    bool saving[2] = {};
    bool taking[2] = {};
    std::uint32_t committed = 0;
    std::uint32_t gives = 0;
    std::uint32_t deaths = 0;

    // Does something, if it may be done; `problem` says what was wrong with it.
    bool act(std::uint32_t s, Act what, std::uint32_t most_gives, std::uint32_t most_deaths,
             std::uint32_t most_jobs, std::string& problem) {
        HandOver<size>& side = sides[s];
        switch (what) {
            case Act::restart:
                if (alive[s] || taking[1 - s]) {
                    return false;
                }
                side = HandOver<size>(s);
                alive[s] = true;
                return true;
            case Act::die:
                if (!alive[s] || deaths == most_deaths) {
                    return false;
                }
                ++deaths;
                side = HandOver<size>(s);
                alive[s] = ready[s] = saving[s] = taking[s] = false;
                return true;
            case Act::take_over:
                if (!alive[s] || alive[1 - s] || taking[s] || ready[s]) {
                    return false;
                }
                taking[s] = true;
                return true;
            case Act::run:
                if (!ready[s] || saving[s] || side.number() == most_jobs) {
                    return false;
                }
                for (std::uint32_t w = 0; w < size; ++w) {
                    side.state()[w] = expected(side.number() + 1, w);
                }
                saving[s] = true;
                return true;
            case Act::give:
                if (!ready[s] || saving[s] || gives == most_gives) {
                    return false;
                }
                ++gives;
                side.give(memory);
                ready[s] = false;
                return true;
            case Act::step:
                break;
        }
        if (!alive[s]) {
            return false;
        }
        if (saving[s]) {
            if (side.save(memory)) {
                saving[s] = false;
                committed = side.number();
            }
        } else if (taking[s]) {
            taking[s] = !side.take_over(memory);
        } else if (ready[s]) {
            return false;
        } else if (side.poll(memory)) {
            ready[s] = true;
            if (ready[1 - s]) {
                problem = "both sides may run the task";
            }
            if (side.number() != committed) {
                problem = "job " + std::to_string(side.number()) + " is the last one, not " +
                          std::to_string(committed);
            }
            for (std::uint32_t w = 0; w < size; ++w) {
                if (side.state()[w] != expected(committed, w)) {
                    problem = "the state is not that of job " + std::to_string(committed);
                }
            }
        }
        return true;
    }

    // Left alone, exactly one side goes on.
    bool goes_on(std::string& problem) const {
        World world = *this;
        for (std::uint32_t k = 0; k < 12 * (size + 6) && problem.empty(); ++k) {
            for (std::uint32_t s = 0; s < 2; ++s) {
                world.act(s, Act::restart, 0, 0, 0, problem);
                world.act(s, Act::step, 0, 0, 0, problem);
            }
        }
        if (problem.empty() && world.ready[0] == world.ready[1]) {
            problem = "left alone, no side goes on";
        }
        return problem.empty();
    }

    [[nodiscard]] std::string key() const {
        static_assert(std::has_unique_object_representations_v<HandOver<size>>);
        std::string bytes(reinterpret_cast<const char*>(&memory), sizeof memory);
        bytes.append(reinterpret_cast<const char*>(sides), sizeof sides);
        for (std::uint32_t s = 0; s < 2; ++s) {
            bytes += static_cast<char>(alive[s] + 2 * ready[s] + 4 * saving[s] + 8 * taking[s]);
        }
        bytes += static_cast<char>(committed);
        bytes += static_cast<char>(gives);
        return bytes + static_cast<char>(deaths);
    }
};

constexpr Act acts[] = {Act::step, Act::run, Act::give, Act::die, Act::take_over, Act::restart};

bool explore(std::uint32_t most) {
    using Small = World<2>;
    std::vector<Small> open{Small{}};
    std::unordered_set<std::string> seen{open[0].key()};
    std::uint64_t steps = 0;
    while (!open.empty()) {
        const Small from = open.back();
        open.pop_back();
        for (std::uint32_t s = 0; s < 2; ++s) {
            for (const Act what : acts) {
                Small world = from;
                std::string problem;
                if (!world.act(s, what, most, most, 3, problem)) {
                    continue;
                }
                ++steps;
                if (!problem.empty() || !world.goes_on(problem)) {
                    std::printf("side %u: %s\n", s, problem.c_str());
                    return false;
                }
                if (seen.insert(world.key()).second) {
                    open.push_back(world);
                }
            }
        }
    }
    std::printf("%zu states, %" PRIu64 " steps: one owner, the last committed state\n", seen.size(), steps);
    return true;
}

bool at_random(std::uint64_t deaths) {
    std::uint64_t dice = 1;
    World<43> world;
    std::uint64_t total = 0;
    std::uint64_t gives = 0;
    while (total < deaths) {
        dice = consort::app::mix(dice);
        const auto s = static_cast<std::uint32_t>(dice & 1U);
        // Mostly steps: a save has 44.
        const std::uint64_t face = (dice >> 8U) % 256;
        const Act what = face < 3    ? Act::die
                         : face < 12 ? Act::restart
                         : face < 20 ? Act::take_over
                         : face < 40 ? Act::give
                         : face < 80 ? Act::run
                                     : Act::step;
        std::string problem;
        world.act(s, what, ~0U, ~0U, ~0U, problem);
        if (!problem.empty()) {
            std::printf("after %" PRIu64 " deaths: %s\n", total, problem.c_str());
            return false;
        }
        total += world.deaths;
        gives += world.gives;
        world.deaths = world.gives = 0;
    }
    std::printf("%" PRIu64 " deaths at random, %" PRIu64
                " hand-overs, %u jobs of 172 bytes: none lost or double\n",
                total, gives, world.committed);
    return world.committed > deaths / 100 && gives > deaths / 100;
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t most = argc == 3 ? std::strtoull(argv[1], nullptr, 10) : 0;
    const std::uint64_t deaths = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0;
    if (most == 0 || most > 9 || deaths == 0) {
        std::fprintf(stderr, "usage: explore MOST DEATHS\n");
        return 2;
    }
    return explore(static_cast<std::uint32_t>(most)) && at_random(deaths) ? 0 : 1;
}
