// SPDX-License-Identifier: Apache-2.0
//
// Offloading on one thread: the test decides when the worker gets to run, when it dies and when it is
// restarted.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <random>

#include "consort/offload.hpp"

namespace {

using consort::Status;
using consort::Ticks;
using consort::offload::JobChannels;
using consort::offload::Master;
using consort::offload::OnMiss;
using consort::offload::Server;
using consort::offload::Task;
namespace job_status = consort::offload::job_status;

// Time passes by looking at it: a deadline is a number of looks, on any machine.
struct LookingPort {
    static inline Ticks ticks = 0;
    static Ticks now() noexcept { return ++ticks; }
    static Ticks ticks_per_second() noexcept { return 1; }
    static void relax() noexcept {}
    static void clean(const void*, std::size_t) noexcept {}
    static void invalidate(const void*, std::size_t) noexcept {}
    static std::uint32_t core_id() noexcept { return 0; }
};

struct In {
    std::int32_t value;
};
struct State {
    std::uint32_t hash;
    std::uint32_t count;
    std::int32_t first;
};
struct Out {
    std::uint32_t hash;
    std::uint32_t count;
    std::int32_t first;  // the oldest input in the state
};

// Every input and their order are in the state: an output tells whether any was lost, doubled or swapped.
void step(const In& in, State& state, Out& out) noexcept {
    if (state.count == 0) {
        state.first = in.value;
    }
    state.hash = (state.hash ^ static_cast<std::uint32_t>(in.value)) * 16777619U;
    state.count += 1;
    out = {state.hash, state.count, state.first};
}

using Digest = Task<&step>;
using Channels = JobChannels<Digest>;
using Control = consort::WorkerControl<>;

struct Bench {
    struct Memory {
        Channels::Mail::Shared mail{};
        Channels::StateBox::Shared checkpoint{};
        Channels::StateBox::Shared restore{};
        Control::Shared control{};
    };
    std::unique_ptr<Memory> memory = std::make_unique<Memory>();
    Channels channels{&memory->mail, &memory->checkpoint, &memory->restore};
    Control::Master control{memory->control};
    Master<Digest, LookingPort> master;

    struct Worker {
        Server<Digest, LookingPort> server;
        Control::Worker control;
        explicit Worker(Bench& b) : server(b.channels), control(b.memory->control) {}
        bool serve() {
            const bool served = server.poll(0, control, [](const auto&) {}) == Status::ok;
            control.beat();
            return served;
        }
    };
    std::optional<Worker> worker;

    explicit Bench(OnMiss policy) : master(channels, control, policy) { start(); }
    void start() { worker.emplace(*this); }
    void kill() { worker.reset(); }

    // One job; the worker gets to run if `served`.
    const consort::offload::JobReport& job(std::int32_t value, Out& out, bool served, bool reset = false) {
        master.begin({value}, reset);
        if (served && worker) {
            static_cast<void>(worker->serve());
        }
        return master.finish(out, LookingPort::ticks + 10, [this] { return worker.has_value(); });
    }
};

struct Golden {
    State state{};
    Out out{};
    const Out& step_on(std::int32_t value, bool reset) {
        if (reset) {
            state = State{};
        }
        step({value}, state, out);
        return out;
    }
};

// A worker that dies behind its answer, before its checkpoint: the test answers in its place.
void answer_without_checkpoint(Bench& bench, std::int32_t value, const Out& answer, Out& out,
                               bool reset = false) {
    Channels::Mail::Server mail(bench.memory->mail);
    bench.master.begin({value}, reset);
    consort::offload::Request<In> request{};
    ASSERT_EQ(mail.try_read(request), Status::ok);
    ASSERT_EQ(mail.try_write({request.sequence, 0, answer}), Status::ok);
    const auto& report = bench.master.finish(out, LookingPort::ticks + 10, [] { return true; });
    ASSERT_EQ(report.status & ~job_status::late_answer, 0U);
    ASSERT_EQ(out.hash, answer.hash);
}

TEST(Offload, ComputesOnTheWorker) {
    Bench bench(OnMiss::stop);
    Golden golden;
    for (std::int32_t i = 0; i < 100; ++i) {
        Out out{};
        const auto& report = bench.job(i, out, true, i % 40 == 39);
        const Out& expected = golden.step_on(i, i % 40 == 39);
        ASSERT_EQ(out.hash, expected.hash) << i;
        EXPECT_EQ(out.count, expected.count);
        EXPECT_EQ(report.status, 0U);
    }
    EXPECT_EQ(bench.master.late_answers(), 0U);
}

TEST(Offload, ALateAnswerIsNeverTakenForTheNext) {
    Bench bench(OnMiss::hold_last_output);
    Golden golden;
    Out out{};
    static_cast<void>(bench.job(1, out, true));
    const Out first = golden.step_on(1, false);
    ASSERT_EQ(out.hash, first.hash);
    const auto report = bench.job(2, out, false);
    EXPECT_EQ(report.status & job_status::held, job_status::held);
    EXPECT_EQ(out.hash, first.hash) << "held";
    golden.step_on(2, false);
    ASSERT_TRUE(bench.worker->serve()) << "the answer to 2 comes after its deadline";
    const auto next = bench.job(3, out, true);
    EXPECT_EQ(next.status, job_status::late_answer);
    EXPECT_EQ(out.hash, golden.step_on(3, false).hash);
    EXPECT_EQ(bench.master.late_answers(), 1U);
}

// A mode may have another remedy than the one before it.
TEST(Offload, AnotherRemedyGoesOnFromTheSameState) {
    Bench bench(OnMiss::hold_last_output);
    Golden golden;
    std::int32_t value = 0;
    for (const OnMiss policy : {OnMiss::local_fallback, OnMiss::hold_last_output, OnMiss::local_fallback}) {
        for (int i = 0; i < 12; ++i) {
            // A step that its master computes itself needs all that came before.
            const bool served = policy == OnMiss::hold_last_output || i % 4 != 0;
            Out out{};
            bench.master.enter(policy);
            const auto& report = bench.job(++value, out, served);
            ASSERT_EQ(out.hash, golden.step_on(value, false).hash) << value;
            EXPECT_EQ((report.status & job_status::fallback) != 0, !served) << value;
            if (!served) {
                ASSERT_TRUE(bench.worker->serve()) << "late";
            }
        }
    }
}

// As a stand-in, which has a time for each core that may compute it.
struct Times {
    std::int32_t at_worker;
    std::int32_t at_master;
};
struct Spent {
    std::int32_t time;
};
void spend(const Times& in, State& /*state*/, Spent& out) noexcept {
    out.time = in.at_worker;
}

}  // namespace

template <>
struct consort::FallbackInput<Times> {
    static Times of(const Times& in) noexcept { return {in.at_master, in.at_master}; }
};

namespace {

TEST(Offload, AMasterThatFallsBackComputesWithItsOwnInput) {
    using Spending = Task<&spend>;
    using SpendingChannels = JobChannels<Spending>;
    struct Memory {
        SpendingChannels::Mail::Shared mail{};
        SpendingChannels::StateBox::Shared checkpoint{};
        SpendingChannels::StateBox::Shared restore{};
        Control::Shared control{};
    };
    const auto memory = std::make_unique<Memory>();
    const SpendingChannels channels{&memory->mail, &memory->checkpoint, &memory->restore};
    Control::Master control{memory->control};
    Master<Spending, LookingPort> master{channels, control, OnMiss::local_fallback};
    Spent out{};
    master.begin({30, 4}, false);
    const auto& report = master.finish(out, LookingPort::now() + 5, [] { return true; });
    EXPECT_TRUE((report.status & job_status::fallback) != 0);
    EXPECT_EQ(out.time, 4);
}

TEST(Offload, StopEndsTheRunAtTheFirstMiss) {
    Bench bench(OnMiss::stop);
    Out out{};
    EXPECT_FALSE(bench.job(1, out, true).stop);
    EXPECT_TRUE(bench.job(2, out, false).stop);
}

TEST(Offload, ADeadWorkerIsFoundByTheJobItFailed) {
    Bench bench(OnMiss::hold_last_output);
    Out out{};
    static_cast<void>(bench.job(1, out, true));
    bench.kill();
    const auto found = bench.job(2, out, true);
    EXPECT_TRUE(found.worker_lost);
    EXPECT_EQ(found.status & job_status::lost, job_status::lost);
    EXPECT_FALSE(bench.job(3, out, true).worker_lost) << "reported once";
    bench.start();
    EXPECT_TRUE(bench.job(4, out, true).worker_back);
    EXPECT_EQ(out.count, 2U) << "holding: the restarted worker goes on from the checkpoint of job 1";
}

TEST(Offload, ASilentWorkerIsLostAndFoundAgain) {
    Bench bench(OnMiss::local_fallback);
    Golden golden;
    Out out{};
    static_cast<void>(bench.job(1, out, true));
    golden.step_on(1, false);
    int lost_at = 0;
    for (std::int32_t i = 2; i < 30; ++i) {
        const auto report = bench.job(i, out, false);
        ASSERT_EQ(out.hash, golden.step_on(i, false).hash) << i;
        if (report.worker_lost) {
            lost_at = i;
        }
    }
    EXPECT_EQ(lost_at, 3) << "silent through two jobs although the platform calls it alive";
    static_cast<void>(bench.worker->serve());
    for (std::int32_t i = 30; i < 60; ++i) {
        const auto report = bench.job(i, out, true);
        ASSERT_EQ(out.hash, golden.step_on(i, false).hash) << i;
        if (i > 30) {
            EXPECT_EQ(report.status & job_status::fallback, 0U) << "handed back";
        }
    }
}

TEST(Offload, AnAnswerWithoutItsCheckpointIsMadeUpFromTheInputs) {
    Bench bench(OnMiss::local_fallback);
    Golden golden;
    Out out{};
    for (std::int32_t i = 1; i < 4; ++i) {
        static_cast<void>(bench.job(i, out, true));
        golden.step_on(i, false);
    }
    bench.kill();
    answer_without_checkpoint(bench, 4, golden.step_on(4, false), out);
    const auto report = bench.job(5, out, true);
    EXPECT_EQ(report.status, job_status::fallback | job_status::lost);
    EXPECT_EQ(out.hash, golden.step_on(5, false).hash);
}

// A job that was sent to a worker which is then replaced within the same period must not be served from a
// fresh state.
TEST(Offload, ARestartInsideOnePeriodLosesNoState) {
    Bench bench(OnMiss::local_fallback);
    Golden golden;
    Out out{};
    static_cast<void>(bench.job(1, out, true));
    golden.step_on(1, false);
    // The predecessor dies; the new worker attaches its mailboxes, the master sends, then the epoch is
    // published.
    bench.kill();
    Server<Digest, LookingPort> early(bench.channels);
    bench.master.begin({2}, false);
    Control::Worker control(bench.memory->control);
    EXPECT_EQ(early.poll(0, control, [](const auto&) {}), Status::would_block) << "not served";
    static_cast<void>(bench.master.finish(out, LookingPort::ticks + 10, [] { return true; }));
    EXPECT_EQ(out.hash, golden.step_on(2, false).hash);
    bench.master.begin({3}, false);
    EXPECT_EQ(early.poll(0, control, [](const auto&) {}), Status::ok);
    const auto& report = bench.master.finish(out, LookingPort::ticks + 10, [] { return true; });
    EXPECT_EQ(report.status, 0U);
    EXPECT_EQ(out.hash, golden.step_on(3, false).hash);
}

TEST(Offload, ARestartIsToldOnceAndAFirstStartIsNone) {
    Bench bench(OnMiss::local_fallback);
    Out out{};
    EXPECT_FALSE(bench.job(1, out, true).worker_restarted) << "the master was made before the worker started";
    bench.kill();
    bench.start();
    const auto found = bench.job(2, out, true);
    EXPECT_TRUE(found.worker_restarted);
    EXPECT_FALSE(found.worker_back) << "it was never missed";
    EXPECT_EQ(found.status, 0U);
    EXPECT_FALSE(bench.job(3, out, true).worker_restarted);
    bench.kill();
    EXPECT_TRUE(bench.job(4, out, true).worker_lost);
    bench.start();
    const auto again = bench.job(5, out, true);
    EXPECT_TRUE(again.worker_restarted);
    EXPECT_TRUE(again.worker_back);
}

TEST(Offload, AnOldCheckpointThatComesLateDoesNotReplaceANewerState) {
    Bench bench(OnMiss::local_fallback);
    Golden golden;
    Out out{};
    static_cast<void>(bench.job(1, out, true));
    golden.step_on(1, false);
    // Far more jobs than inputs are kept: the state cannot be made again from the checkpoint of job 2.
    const std::int32_t last = 2 + 3 * static_cast<std::int32_t>(Master<Digest, LookingPort>::history);
    for (std::int32_t i = 2; i <= last; ++i) {
        static_cast<void>(bench.job(i, out, false));
        ASSERT_EQ(out.hash, golden.step_on(i, false).hash) << i;
    }
    ASSERT_TRUE(bench.worker->serve()) << "job 2, long given up: its checkpoint comes now";
    bench.kill();
    answer_without_checkpoint(bench, last + 1, golden.step_on(last + 1, false), out);
    const auto report = bench.job(last + 2, out, false);
    EXPECT_EQ(report.status, job_status::fallback | job_status::lost);
    EXPECT_EQ(out.hash, golden.step_on(last + 2, false).hash);
}

TEST(ResetOfTheState, StaysAskedForWhileNoRequestIsTakenUp) {
    Bench bench(OnMiss::hold_last_output);
    Out out{};
    static_cast<void>(bench.job(1, out, true));
    // Neither job 2, which lies in the mailbox, nor the reset, which found no room there, is served.
    static_cast<void>(bench.job(2, out, false));
    static_cast<void>(bench.job(3, out, false, true));
    ASSERT_TRUE(bench.worker->serve()) << "job 2";
    EXPECT_EQ(bench.job(4, out, true).status, job_status::late_answer);
    EXPECT_EQ(out.first, 4) << "the answer to job 2 does not speak of the reset";
    static_cast<void>(bench.job(5, out, true));
    EXPECT_EQ(out.first, 4) << "asked for once";
    EXPECT_EQ(out.count, 2U);
}

TEST(ResetOfTheState, IsNotAskedForAgainAfterALateAnswer) {
    Bench bench(OnMiss::hold_last_output);
    Out out{};
    static_cast<void>(bench.job(1, out, true));
    static_cast<void>(bench.job(2, out, false, true));
    ASSERT_TRUE(bench.worker->serve()) << "the reset, too late for its output";
    EXPECT_EQ(bench.job(3, out, true).status, job_status::late_answer);
    EXPECT_EQ(out.first, 2);
    EXPECT_EQ(out.count, 2U);
}

TEST(ResetOfTheState, SurvivesAWorkerThatDiesWithTheRequest) {
    Bench bench(OnMiss::hold_last_output);
    Out out{};
    static_cast<void>(bench.job(1, out, true));
    static_cast<void>(bench.job(2, out, false, true));
    bench.kill();
    static_cast<void>(bench.job(3, out, true));
    bench.start();
    EXPECT_TRUE(bench.job(4, out, true).worker_back);
    EXPECT_EQ(out.first, 4);
    EXPECT_EQ(out.count, 1U);
}

TEST(ResetOfTheState, IsNotAskedForAgainWhenACheckpointHoldsIt) {
    Bench bench(OnMiss::hold_last_output);
    Out out{};
    static_cast<void>(bench.job(1, out, true));
    static_cast<void>(bench.job(2, out, true, true));
    bench.kill();
    bench.start();
    static_cast<void>(bench.job(3, out, true));
    EXPECT_EQ(out.first, 2);
    EXPECT_EQ(out.count, 2U);
}

TEST(ResetOfTheState, SurvivesAPredecessorsLateAnswer) {
    Bench bench(OnMiss::hold_last_output);
    Out out{};
    static_cast<void>(bench.job(1, out, true));
    // Sent with the reset, answered late, without a checkpoint: the state that had it died.
    Channels::Mail::Server mail(bench.memory->mail);
    bench.worker.reset();
    bench.master.begin({2}, true);
    consort::offload::Request<In> request{};
    ASSERT_EQ(mail.try_read(request), Status::ok);
    static_cast<void>(bench.master.finish(out, LookingPort::ticks + 10, [] { return true; }));
    ASSERT_EQ(mail.try_write({request.sequence, 0, out}), Status::ok);
    bench.start();
    const auto report = bench.job(3, out, true);
    EXPECT_EQ(report.status, job_status::late_answer);
    EXPECT_TRUE(report.worker_restarted);
    EXPECT_EQ(out.first, 3);
}

class ResetUnderPolicy : public testing::TestWithParam<OnMiss> {};

// Whatever the policy: also without a miss, and with a worker back within the period.
TEST_P(ResetUnderPolicy, SurvivesAWorkerThatDiesBetweenItsAnswerAndItsCheckpoint) {
    Bench bench(GetParam());
    Out out{};
    static_cast<void>(bench.job(1, out, true));
    bench.kill();
    answer_without_checkpoint(bench, 2, {7, 1, 2}, out, true);
    bench.start();
    EXPECT_EQ(bench.job(3, out, true).status, 0U);
    EXPECT_GE(out.first, 2) << "not the checkpoint of job 1";
    // Saved by now: a further restart goes on from the checkpoint.
    const std::int32_t first = out.first;
    static_cast<void>(bench.job(4, out, true));
    bench.kill();
    bench.start();
    EXPECT_EQ(bench.job(5, out, true).status, 0U);
    EXPECT_EQ(out.first, first);
}

INSTANTIATE_TEST_SUITE_P(All, ResetUnderPolicy,
                         testing::Values(OnMiss::hold_last_output, OnMiss::local_fallback, OnMiss::stop));

// Any interleaving of slow, dead and restarted workers, holding: inputs of held jobs may be missing from the
// state, but nothing from before a reset is in it.
TEST(Offload, WithHeldOutputsNoStateOutlivesAReset) {
    for (unsigned seed = 0; seed < 400; ++seed) {
        std::mt19937 random(seed);
        const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
        Bench bench(OnMiss::hold_last_output);
        std::int32_t reset_at = 1;
        unsigned answered = 0;
        unsigned longest = 0;
        for (std::int32_t i = 1; i < 300; ++i) {
            if (bench.worker && chance(3)) {
                bench.kill();
            }
            if (!bench.worker && chance(20)) {
                bench.start();
            }
            if (bench.worker && chance(10)) {
                static_cast<void>(bench.worker->serve());
            }
            const bool reset = chance(5);
            reset_at = reset ? i : reset_at;
            Out out{};
            const auto report = bench.job(i, out, chance(80), reset);
            if ((report.status & job_status::held) == 0) {
                ASSERT_GE(out.first, reset_at) << "seed " << seed << " job " << i;
                ++answered;
                longest = out.count > longest ? out.count : longest;
            }
        }
        EXPECT_GT(answered, 50U) << "seed " << seed;
        EXPECT_GT(longest, 5U) << "seed " << seed << ": it is not reset all the time";
    }
}

// Any interleaving of slow, dead and restarted workers: with the local fallback every output is the golden
// one.
TEST(Offload, WithLocalFallbackEveryOutputIsGolden) {
    for (unsigned seed = 0; seed < 400; ++seed) {
        std::mt19937 random(seed);
        const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
        Bench bench(OnMiss::local_fallback);
        Golden golden;
        unsigned offloaded = 0;
        for (std::int32_t i = 1; i < 300; ++i) {
            if (bench.worker && chance(3)) {
                bench.kill();
            }
            if (!bench.worker && chance(20)) {
                bench.start();
            }
            if (bench.worker && chance(10)) {
                static_cast<void>(bench.worker->serve());
            }
            const bool reset = chance(2);
            Out out{};
            const auto report = bench.job(i, out, chance(80), reset);
            const Out& expected = golden.step_on(i, reset);
            ASSERT_EQ(out.hash, expected.hash)
                << "seed " << seed << " job " << i << " status " << report.status;
            ASSERT_EQ(out.count, expected.count);
            offloaded += (report.status & job_status::fallback) == 0 ? 1 : 0;
        }
        EXPECT_GT(offloaded, 50U) << "seed " << seed << ": the worker is used again after each restart";
    }
}

}  // namespace
