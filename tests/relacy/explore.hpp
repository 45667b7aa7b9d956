// SPDX-License-Identifier: Apache-2.0
//
// Runs an exploration, says what was found, and compares it with what must be found.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "relacy_access.hpp"

namespace consort::exploration {

struct Weakening {
    SyncPoint point;
    rl::memory_order to;
};

struct Search {
    rl::scheduler_type_e kind;
    // Context-bounded: preemptions in one execution. Random: executions.
    unsigned bound;
};

// Every interleaving, and for each load also the last but one value where the memory model allows it.
inline constexpr Search full{rl::sched_full, 0};
[[nodiscard]] constexpr Search bounded(unsigned preemptions) noexcept {
    return {rl::sched_bound, preemptions};
}
[[nodiscard]] constexpr Search random(unsigned executions) noexcept {
    return {rl::sched_random, executions};
}

struct Found {
    rl::test_result_e result = rl::test_result_success;
    std::string check;
    unsigned long long executions = 0;
};

// Where the failing execution of each run is written out, step by step.
[[nodiscard]] inline std::string history_file() {
    return std::string(program_invocation_short_name) + ".history";
}

// A test whose type is erased: Relacy's engine takes a compiler seconds, and is so compiled once for each
// number of threads (engine.cpp), not for each test.
class AnyTest {
  public:
    virtual ~AnyTest() = default;
    virtual void before() = 0;
    virtual void thread(unsigned index) = 0;
    virtual void after() = 0;
    virtual void invariant() = 0;
};

template <class Test>
class ErasedTest final : public AnyTest {
  public:
    void before() override { test_.before(); }
    void thread(unsigned index) override { test_.thread(index); }
    void after() override { test_.after(); }
    void invariant() override { test_.invariant(); }

  private:
    Test test_ = Test();
};

// Relacy replaces operator new: a test is made in memory of so many bytes.
inline constexpr std::size_t most_test_bytes = 65536;
using Make = AnyTest* (*)(std::byte* memory);

// Explores the test of 2 or 3 threads that `make` makes for each execution.
template <rl::thread_id_t Threads>
void simulate(Make make, rl::test_params& parameters);

template <class Test>
[[nodiscard]] Found explore(Search search, const std::vector<Weakening>& weakenings = {}) {
    // A stream on a file: Relacy replaces operator new, and a string stream would allocate in its middle.
    static bool begun = false;
    std::ofstream history(history_file(), begun ? std::ios::app : std::ios::trunc);
    begun = true;
    std::ofstream progress("/dev/null");
    rl::test_params parameters;
    parameters.search_type = search.kind;
    parameters.iteration_count = search.bound;
    parameters.context_bound = search.bound;
    parameters.output_stream = &history;
    parameters.progress_stream = &progress;
    restore_orders();
    for (const Weakening& weakening : weakenings) {
        present_order[static_cast<std::size_t>(weakening.point)] = weakening.to;
    }
    failed_check = nullptr;
    static_assert(sizeof(ErasedTest<Test>) <= most_test_bytes);
    simulate<Test::params::thread_count>(
        [](std::byte* memory) -> AnyTest* { return ::new (memory) ErasedTest<Test>; }, parameters);
    restore_orders();

    Found found;
    found.result = parameters.test_result;
    found.executions = parameters.stop_iteration;
    found.check = found.result == rl::test_result_success              ? "none"
                  : found.result == rl::test_result_user_assert_failed ? failed_check
                                                                       : rl::test_result_str(found.result);
    return found;
}

// One test program: its findings as a table, its exit code.
class Report {
  public:
    template <class Test>
    void holds(const char* what, Search search) {
        const Found found = explore<Test>(search);
        const bool good = found.result == rl::test_result_success;
        std::printf("%-4s %s: %s in %llu executions, %s\n", good ? "ok" : "FAIL", what, found.check.c_str(),
                    found.executions, text(search).c_str());
        note(good);
    }

    // The stated limit of a channel: the search must find it.
    template <class Test>
    void fails(const char* what, Search search, rl::test_result_e expected) {
        const Found found = explore<Test>(search);
        const bool good = found.result == expected;
        std::printf("%-4s %s: expected %s, found %s at execution %llu, %s\n", good ? "ok" : "FAIL", what,
                    rl::test_result_str(expected), found.check.c_str(), found.executions,
                    text(search).c_str());
        note(good);
    }

    // `point` weakened must make a check fail. `background` is weakened as well, in a test that holds with it
    // alone.
    template <class Test>
    void found(SyncPoint point, rl::memory_order to, Search search, std::vector<Weakening> background = {}) {
        heading();
        std::string note_text;
        if (!background.empty()) {
            const Found alone = explore<Test>(search, background);
            if (alone.result != rl::test_result_success) {
                std::printf("FAIL the background of %s does not hold: %s\n", name_of(point),
                            alone.check.c_str());
                note(false);
                return;
            }
            for (const Weakening& other : background) {
                note_text += (note_text.empty() ? "; with " : ", ") + std::string(name_of(other.point)) +
                             " " + rl::format(other.to);
            }
            note_text += ", which alone holds in " + std::to_string(alone.executions);
        }
        background.push_back({point, to});
        const Found found = explore<Test>(search, background);
        const bool good = found.result != rl::test_result_success;
        row(good ? "ok" : "FAIL", point, to, found, search, note_text);
        note(good);
    }

    // Kept although no search finds its weakening; `reason` says why. Should the search find it, the reason
    // is void.
    template <class Test>
    void kept(SyncPoint point, rl::memory_order to, Search search, const std::string& reason) {
        heading();
        const Found found = explore<Test>(search, {{point, to}});
        const bool good = found.result == rl::test_result_success;
        row(good ? "kept" : "FAIL", point, to, found, search, "; kept: " + reason);
        note(good);
    }

    [[nodiscard]] int exit_code() const {
        std::printf("\n%d not as expected; failing executions step by step: %s\n", failures_,
                    history_file().c_str());
        return failures_ == 0 ? 0 : 1;
    }

  private:
    static std::string text(Search search) {
        switch (search.kind) {
            case rl::sched_full:
                return "full search";
            case rl::sched_bound:
                return "all with at most " + std::to_string(search.bound) + " preemptions";
            default:
                return "at most " + std::to_string(search.bound) + " random executions";
        }
    }

    void heading() {
        if (!heading_) {
            std::printf("\n     %-28s| weakened to | %-50s| at execution\n", "point", "check that failed");
            heading_ = true;
        }
    }

    static void row(const char* mark, SyncPoint point, rl::memory_order to, const Found& found, Search search,
                    const std::string& remark) {
        std::printf("%-4s %-28s| %-12s| %-50s| %llu (%s)%s\n", mark, name_of(point), rl::format(to),
                    found.check.c_str(), found.executions, text(search).c_str(), remark.c_str());
    }

    void note(bool good) {
        failures_ += good ? 0 : 1;
        std::fflush(stdout);
    }

    int failures_ = 0;
    bool heading_ = false;
};

}  // namespace consort::exploration
