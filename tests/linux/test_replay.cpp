// SPDX-License-Identifier: Apache-2.0
//
// A job that broke a run off has no row in the record. For a debugger it gets the input row that it had: the
// one that the task goes on with after its last served job, in whichever modes it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "consort/linux/executive/files.hpp"
#include "made_plan.hpp"
#include "temporary.hpp"

using namespace consort;
using namespace consort::linux_port;

namespace {

std::vector<std::uint32_t> rows_seen;

namespace seeing {
struct In {
    std::uint32_t row;
};
struct State {};
struct Out {
    std::uint32_t row;
};
inline void step(const In& in, State& /*state*/, Out& out) {
    rows_seen.push_back(in.row);
    out.row = in.row;
}
}  // namespace seeing

template <class Row>
void write_rows(const std::filesystem::path& file, const std::vector<Row>& rows) {
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(rows.data()),
               static_cast<std::streamsize>(rows.size() * sizeof(Row)));
}

// A recording, row by row: a job plays as many rows as its mode's period is long, none behind the last one.
class Played {
  public:
    explicit Played(std::uint32_t rows) : rows_(rows) {}
    [[nodiscard]] std::uint32_t row() const { return row_; }
    void job(std::uint32_t rows_of_the_period) {
        for (std::uint32_t played = 0; played < rows_of_the_period; ++played) {
            ++row_;
            if (row_ == rows_) {
                row_ = 0;
                return;
            }
        }
    }

  private:
    std::uint32_t rows_;
    std::uint32_t row_ = 0;
};

struct Broken {
    std::vector<Job> jobs;
    std::vector<Event> events;
    std::vector<std::uint32_t> expected;  // rows of the served jobs, and of the one that broke the run off
};

// A run that stays in two modes in turn; some jobs are skipped, and have no row.
Broken broken_run(std::mt19937& chance, const std::vector<std::uint32_t>& steps, std::uint32_t count) {
    const auto below = [&chance](std::uint32_t most) {
        return std::uniform_int_distribution<std::uint32_t>(0, most - 1)(chance);
    };
    Broken run;
    Played played(count);
    Ticks now = 1000;
    std::uint32_t seq = 0;
    for (std::uint32_t stay = 0; stay < 1 + below(5); ++stay) {
        const std::uint32_t mode = stay % 2;
        run.events.push_back({now, mode, Event::mode_entered, Event::none, Event::none, 0});
        for (std::uint32_t k = 0; k < 1 + below(6); ++k) {
            Job job{};
            job.release = job.ready = job.start = now;
            job.finish = now + 10;
            job.seq = seq++;
            job.core = static_cast<std::uint16_t>(mode);
            if (below(5) == 0) {
                job.start = job.finish = 0;
                job.status = job_status::unserved | job_status::missed;
            } else {
                job.input = played.row();
                run.expected.push_back(played.row());
                played.job(steps[mode]);
            }
            run.jobs.push_back(job);
            now += 1000;
        }
        now += 500;
    }
    run.expected.push_back(played.row());
    run.events.push_back({now, 11, Event::crashed, 0, 0, 0});
    // Each core has a ring of its own: the rows of one lie behind those of the other.
    std::stable_sort(run.jobs.begin(), run.jobs.end(),
                     [](const Job& one, const Job& other) { return one.core > other.core; });
    return run;
}

}  // namespace

TEST(Replay, TheJobThatBrokeTheRunOffHasTheRowAfterTheOneBefore) {
    Catalogue catalogue;
    catalogue.task<Task<&seeing::step>>("seen");
    std::mt19937 chance(1);
    for (int round = 0; round < 100; ++round) {
        const Temporary folder;
        const std::uint32_t count = 1 + chance() % 12;
        const std::vector<std::uint32_t> steps{1 + static_cast<std::uint32_t>(chance() % 5),
                                               1 + static_cast<std::uint32_t>(chance() % 5)};
        const Broken run = broken_run(chance, steps, count);

        const plan::Core core = core_of(plan::Policy::fixed_priority);
        RunConfig config = MadePlan{{{core, core}, {core, core}}, {{task_of(0)}, {task_of(1)}}}.config();
        config.tasks[0].name = "seen";
        config.tasks[0].input_steps.of_mode = steps;
        config.tasks[0].input_file = (folder.path / "0.input").string();
        std::vector<std::uint32_t> rows(count);
        std::iota(rows.begin(), rows.end(), 0U);
        write_rows(folder.path / "0.input", rows);
        write_rows(folder.path / "jobs.bin", run.jobs);
        write_rows(folder.path / "events.bin", run.events);
        std::ofstream(folder.path / "manifest.json")
            << R"({"clock": {"ticks_per_second": 1e9}, "config": {"start_tick": 1000}})";

        rows_seen.clear();
        EXPECT_EQ(replay(config, catalogue, folder.path, "seen"), 0);
        ASSERT_EQ(rows_seen, run.expected)
            << "round " << round << ": " << count << " rows, steps " << steps[0] << " and " << steps[1];
    }
}
