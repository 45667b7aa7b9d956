// SPDX-License-Identifier: Apache-2.0
//
// consort-loopback: the loopback test of Orciari et al., "Taming edge computing for hard real-time advanced
// control of mechatronic systems" (IEEE TII 2024, section V): a package of random bytes from the master to
// the worker and back.
//
// One iteration, with the paper's step numbers:
//   1  the master makes a random package                                        not timed
//   2  it copies the package to shared memory                                   timed from before this copy
//   3  it signals (here: the mailbox's sequence word; the paper's IPCC)
//      the worker copies the package to its local memory
//   5  and sends the copy back through shared memory
//   6  and signals
//      the master copies the answer to its local memory                         timed to after this copy
//   -  the master compares the answer with what it sent                         not timed
//
// The sizes take turns in short blocks, with a block of the bare cache-line round trip (the floor) between
// any two: both meet the same state of the machine, which a virtual machine's host changes at will.

#include <memory>

#include "pair.hpp"

namespace {

using namespace consort;
using namespace consort::bench;
namespace port = consort::linux_port;

constexpr const char* help = R"(usage: consort-loopback --raw DIR [options]

Sends random packages from a master process to a worker process and back, and records every round trip.

  --raw DIR          record into this empty directory
  --iterations N     round trips of each size (default 1000000)
  --sizes LIST       package sizes in bytes (default 0,1,8,16,32,64,128,256,512,1024)
  --gap-us N         sleep of both processes between blocks, for a load that has no other processor (default 0)
  --class NAME       ordinary or realtime: the scheduling class of both processes (default ordinary)
  --cpus M,W         processors of master and worker, the lower number is the master's (default: chosen)
  --seconds S        end after S seconds, done or not (default 60)
  --parent PID       end when that process, which must have started this one, ends

example: mkdir raw && consort-loopback --raw raw --iterations 20000 --sizes 0,8,1024
)";

// How the iterations are spread: the same on both sides, so that neither has to tell the other.
struct Plan {
    std::uint64_t iterations;
    std::vector<std::uint32_t> sizes;
    std::uint32_t gap_us;

    [[nodiscard]] std::uint64_t rounds() const { return std::min<std::uint64_t>(iterations, 100); }
    [[nodiscard]] std::uint64_t block(std::uint64_t round) const {
        return iterations * (round + 1) / rounds() - iterations * round / rounds();
    }
    // A tenth of the block that it brackets, but enough for a median.
    [[nodiscard]] std::uint64_t floor_block() const {
        return std::max<std::uint64_t>(iterations / rounds() / 10, 50);
    }
    [[nodiscard]] std::uint64_t floor_blocks() const { return rounds() * sizes.size() + 1; }

    // Calls floor() before, between and after all blocks, and block(index of size, iterations) for each.
    template <class Floor, class Block>
    void follow(Floor floor, Block one) const {
        floor();
        for (std::uint64_t round = 0; round < rounds(); ++round) {
            for (std::size_t i = 0; i < sizes.size(); ++i) {
                one(i, block(round));
                floor();
            }
        }
    }
};
// Untimed round trips before the first timed one: code and shared pages are then there on both sides.
constexpr std::uint64_t warm_up = 64;

// One size's side of the test.
class Leg {
  public:
    Leg() = default;
    Leg(const Leg&) = delete;
    Leg& operator=(const Leg&) = delete;
    virtual ~Leg() = default;
    virtual void run(std::uint64_t count, bool recorded) = 0;
};

class Errors {
  public:
    void add(std::uint32_t size, std::uint64_t iteration) {
        ++count_;
        if (first_.size() < 100) {
            first_.push_back({Clock::now(), size, iteration});
        }
    }
    void write(port::RawWriter& writer) const {
        writer.counter("content_errors", count_);
        for (const Error& error : first_) {
            writer.event(error.tick, "content-error",
                         json::object({{"bytes", error.size}, {"iteration", error.iteration}}));
        }
    }
    [[nodiscard]] std::uint64_t count() const { return count_; }

  private:
    struct Error {
        std::uint64_t tick;
        std::uint32_t size;
        std::uint64_t iteration;
    };
    std::uint64_t count_ = 0;
    std::vector<Error> first_;
};

template <std::uint32_t N>
class MasterLeg : public Leg {
  public:
    MasterLeg(const Region<>& region, Samples& table, Errors& errors)
        : link_(open_channel<Mail, N>(region)), table_(&table), errors_(&errors) {}

    void run(std::uint64_t count, bool recorded) override {
        for (std::uint64_t i = 0; i < count; ++i) {
            random_.fill(sent_);
            observed(sent_);
            const std::uint64_t begin = Clock::begin();
            const Status out = link_.write(sent_);
            const Status in = link_.read(back_);
            observed(back_);
            const std::uint64_t end = Clock::end();
            require(out);
            require(in);
            if (!same(sent_, back_)) {
                errors_->add(N, table_->size());
            }
            if (recorded) {
                table_->push({end - begin});
            }
        }
    }

  private:
    typename Mail<N>::Client link_;
    Samples* table_;
    Errors* errors_;
    Random random_{N};
    Package<N> sent_{};
    Package<N> back_{};
};

template <std::uint32_t N>
class WorkerLeg : public Leg {
  public:
    // `corrupt_at`: the recorded iteration whose answer is damaged; -1 for none.
    WorkerLeg(const Region<>& region, std::int64_t corrupt_at)
        : link_(open_channel<Mail, N>(region)), corrupt_at_(corrupt_at) {}

    void run(std::uint64_t count, bool recorded) override {
        Package<N> local;
        for (std::uint64_t i = 0; i < count; ++i) {
            require(link_.read(local));
            observed(local);
            if (recorded && done_++ == corrupt_at_) [[unlikely]] {
                damage(local);
            }
            require(link_.write(local));
        }
    }

  private:
    typename Mail<N>::Server link_;
    std::int64_t corrupt_at_;
    std::int64_t done_ = 0;
};

using Legs = std::vector<std::unique_ptr<Leg>>;

// Between blocks: both sides sleep and then meet, so that no timed round trip waits for a sleeper.
void gap(const Plan& plan, RawSignal& raw, void (RawSignal::*side)()) {
    if (plan.gap_us > 0) {
        const timespec time{plan.gap_us / 1'000'000, static_cast<long>(plan.gap_us % 1'000'000) * 1000};
        ::nanosleep(&time, nullptr);
        (raw.*side)();
    }
}

void warm(RawSignal& raw, Legs& legs, void (RawSignal::*side)()) {
    for (std::uint64_t i = 0; i < warm_up; ++i) {
        (raw.*side)();
    }
    for (const auto& leg : legs) {
        leg->run(warm_up, false);
    }
}

void run_worker(const Plan& plan, const PairOptions& options, const SharedMemory& memory, Common& common,
                std::int64_t corrupt_at) {
    const Region<> region = attach(memory);
    RawSignal raw(common.raw);
    Legs legs;
    for (const std::uint32_t size : plan.sizes) {
        Sizes::with(size, [&]<std::uint32_t N>() {
            legs.push_back(std::make_unique<WorkerLeg<N>>(region, corrupt_at));
        });
    }
    const port::RealtimeGuard guard(options.of(options.worker_cpu));
    report_worker(common, guard.achieved());
    warm(raw, legs, &RawSignal::answer);
    plan.follow(
        [&] {
            gap(plan, raw, &RawSignal::answer);
            for (std::uint64_t i = 0; i < plan.floor_block(); ++i) {
                raw.answer();
            }
        },
        [&](std::size_t index, std::uint64_t count) { legs[index]->run(count, true); });
}

void run_master(const Plan& plan, const PairOptions& options, const SharedMemory& memory, Common& common,
                const std::string& folder) {
    port::RawWriter writer(folder, "consort-loopback");
    const Region<> region = attach(memory);
    RawSignal raw(common.raw);
    Errors errors;
    std::vector<Samples> tables;
    for (const std::uint32_t size : plan.sizes) {
        tables.push_back(samples("loopback_" + std::to_string(size), plan.iterations,
                                 json::object({{"bytes", size}, {"rounds", plan.rounds()}})));
    }
    Legs legs;
    for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
        Sizes::with(plan.sizes[i], [&]<std::uint32_t N>() {
            legs.push_back(std::make_unique<MasterLeg<N>>(region, tables[i], errors));
        });
    }
    Samples floor = samples("floor", plan.floor_block() * plan.floor_blocks(),
                            json::object({{"block", plan.floor_block()}, {"blocks", plan.floor_blocks()}}));
    Samples empty = samples("empty_section", 10'000, json::object());
    Realtime achieved;
    {
        const port::RealtimeGuard guard(options.of(options.master_cpu));
        achieved = guard.achieved();
        warm(raw, legs, &RawSignal::call);
        writer.event(Clock::now(), "measuring-begins");
        plan.follow(
            [&] {
                gap(plan, raw, &RawSignal::call);
                for (std::uint64_t i = 0; i < plan.floor_block(); ++i) {
                    const std::uint64_t begin = Clock::begin();
                    raw.call();
                    floor.push({Clock::end() - begin});
                }
            },
            [&](std::size_t index, std::uint64_t count) { legs[index]->run(count, true); });
        writer.event(Clock::now(), "measuring-ends");
        measure_empty_section(empty);
    }
    achieved.notes.insert(achieved.notes.end(), options.notes.begin(), options.notes.end());
    writer.config = options.to_json();
    writer.config["iterations"] = plan.iterations;
    writer.config["sizes"] = json::of(plan.sizes);
    writer.config["gap_us"] = plan.gap_us;
    writer.config["worker_realtime"] = worker_report(common);
    for (const Samples& table : tables) {
        writer.table(table);
    }
    writer.table(floor);
    writer.table(empty);
    errors.write(writer);
    writer.realtime(achieved);
    writer.finish();
    if (errors.count() != 0) {
        throw TestFails(std::to_string(errors.count()) + " packages came back changed");
    }
}

int run(const port::Options& options) {
    if (options.given("--help")) {
        std::fputs(help, stdout);
        return port::good;
    }
    if (!options.given("--raw")) {
        throw std::invalid_argument("--raw DIR is missing; see --help");
    }
    const Plan plan{static_cast<std::uint64_t>(options.number("--iterations", 1e6, 1.0, 1e9)),
                    parse_sizes(options.text("--sizes", "0,1,8,16,32,64,128,256,512,1024")),
                    static_cast<std::uint32_t>(options.number("--gap-us", 0.0, 0.0, 1e6))};
    // Hidden, for the test of the check: the worker damages its answer to this iteration of each size.
    const auto corrupt_at = static_cast<std::int64_t>(options.number("--corrupt-at", -1.0, -1.0, 1e9));
    const PairOptions pair(options);
    // Before the processes part: both then convert ticks alike.
    Clock::info();
    const SharedMemory memory = make_region<Mail>(plan.sizes);
    const SharedObject<Common> common("consort-loopback-common");
    return run_pair(
        "consort-loopback", pair, [&] { run_master(plan, pair, memory, *common, options.text("--raw")); },
        [&] { run_worker(plan, pair, memory, *common, corrupt_at); });
}

}  // namespace

int main(int argc, char** argv) {
    return run_test("consort-loopback", [&] {
        return run(port::Options(argc, argv,
                                 {"--raw", "--iterations", "--sizes", "--gap-us", "--class", "--cpus",
                                  "--seconds", "--parent", "--corrupt-at"},
                                 {"--help"}));
    });
}
