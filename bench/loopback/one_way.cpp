// SPDX-License-Identifier: Apache-2.0
//
// consort-one-way: the benchmarks of Coppik et al., "Low-latency real-time applications on heterogeneous
// MPSoCs" (NG-RES 2025, section 3): how long a signal, or an array and its flag, takes from one processor to
// the other.
//
//   byte      one byte in shared memory is changed; the other side, which reads it all the time, sees it
//   eventfd   the other side sleeps in read() on an eventfd: what an inter-processor interrupt does
//   futex     the other side sleeps in futex(FUTEX_WAIT)
//   transfer  an array and a flag (Mailbox), until the other side has copied the array
//
// The sender reads the clock, then sends; the receiver reads the clock when it has received. Both read the
// one counter that the processors share, so where the two processors' readings differ by d, each time in one
// direction is too long and each in the other too short by d; the mean of both directions is free of it.
//
// Each series is `--runs` runs of `--iterations`; the runs of all series take turns, and between them both
// processes sleep, so that whatever else there is gets the processors and the caches.

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include <memory>

#include "pair.hpp"

namespace {

using namespace consort;
using namespace consort::bench;
namespace port = consort::linux_port;

constexpr const char* help = R"(usage: consort-one-way --raw DIR [options]

Measures one-way times between a master process and a worker process on one clock.

  --raw DIR          record into this empty directory
  --signals LIST     of byte, eventfd, futex (default byte): both directions each
  --sizes LIST       also transfer arrays of these sizes in bytes, master to worker (default: none)
  --iterations N     of one run (default 1000)
  --runs N           runs of each series (default 10)
  --gap-ms N         sleep of both processes between two runs (default 10)
  --class NAME       ordinary or realtime: the scheduling class of both processes (default ordinary)
  --cpus M,W         processors of master and worker, the lower number is the master's (default: chosen)
  --seconds S        end after S seconds, done or not (default 60)
  --parent PID       end when that process, which must have started this one, ends

example: mkdir raw && consort-one-way --raw raw --signals byte,eventfd --sizes 8,1024
)";

struct Plan {
    std::uint32_t iterations;
    std::uint32_t runs;
    std::uint32_t gap_ms;
    std::vector<std::string> signals;
    std::vector<std::uint32_t> sizes;
    std::int64_t corrupt_at;
};

// The lines of one series; the receiver writes `ready`, the sender the rest.
struct Lines {
    Line ready;
    alignas(line_bytes) std::atomic<unsigned char> byte{0};
    Line futex;
};

// When each message of a run was sent and received: written by the side that knows, read when both are done.
class Times {
  public:
    explicit Times(std::size_t rows)
        : memory_(SharedMemory::anonymous("consort-one-way-times", rows * sizeof(std::uint64_t))) {
        // Touched now, so that no first write faults later in the maker; `touch` does it for the other side.
        std::memset(memory_.base(), 0, memory_.bytes());
    }
    void touch() const noexcept { std::memset(memory_.base(), 0, memory_.bytes()); }
    [[nodiscard]] std::uint64_t* begin() const noexcept {
        return static_cast<std::uint64_t*>(memory_.base());
    }

  private:
    SharedMemory memory_;
};

void wait_ticks(std::uint64_t ticks) noexcept {
    const std::uint64_t begin = Clock::now();
    while (Clock::now() - begin < ticks) {
        isa::relax();
    }
}

// One series: what the sending and the receiving side do `count` times.
class Leg {
  public:
    Leg(std::string name, bool to_worker) : name_(std::move(name)), to_worker_(to_worker) {}
    Leg(const Leg&) = delete;
    Leg& operator=(const Leg&) = delete;
    virtual ~Leg() = default;

    virtual void send(Lines& lines, std::uint32_t count, std::uint64_t* sent) = 0;
    // Returns how many messages came with another content than was sent.
    virtual std::uint32_t receive(Lines& lines, std::uint32_t count, std::uint64_t* received) = 0;

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] bool to_worker() const { return to_worker_; }
    [[nodiscard]] virtual std::uint32_t bytes() const { return 0; }

  protected:
    // The receiver says that it is about to wait; the sender then gives it `settle_ns` to get there.
    static void receiver_waits(Lines& lines) noexcept {
        lines.ready.word.store(lines.ready.word.load(std::memory_order_relaxed) + 1,
                               std::memory_order_release);
    }
    void await_receiver(Lines& lines, std::uint64_t settle_ns) noexcept {
        ++expected_;
        while (lines.ready.word.load(std::memory_order_acquire) != expected_) {
            isa::relax();
        }
        wait_ticks(Clock::from_ns(settle_ns));
    }

  private:
    std::string name_;
    bool to_worker_;
    std::uint32_t expected_ = 0;
};

// Long enough for a reader to be back in its loop, or for a sleeper to be asleep and its processor idle.
constexpr std::uint64_t spin_settle_ns = 1'000;
constexpr std::uint64_t sleep_settle_ns = 40'000;

class ByteLeg : public Leg {
  public:
    using Leg::Leg;
    void send(Lines& lines, std::uint32_t count, std::uint64_t* sent) override {
        for (std::uint32_t i = 0; i < count; ++i) {
            await_receiver(lines, spin_settle_ns);
            sent[i] = Clock::begin();
            lines.byte.store(++value_, std::memory_order_release);
        }
    }
    std::uint32_t receive(Lines& lines, std::uint32_t count, std::uint64_t* received) override {
        std::uint32_t wrong = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            receiver_waits(lines);
            const unsigned char before = value_;
            unsigned char now = 0;
            while ((now = lines.byte.load(std::memory_order_acquire)) == before) {
                isa::relax();
            }
            received[i] = Clock::end();
            wrong += now == ++value_ ? 0U : 1U;
        }
        return wrong;
    }

  private:
    unsigned char value_ = 0;
};

class EventLeg : public Leg {
  public:
    EventLeg(std::string name, bool to_worker)
        : Leg(std::move(name), to_worker), fd_(::eventfd(0, EFD_CLOEXEC)) {
        if (fd_ < 0) {
            throw std::system_error(errno, std::generic_category(), "eventfd");
        }
    }
    ~EventLeg() override { ::close(fd_); }

    void send(Lines& lines, std::uint32_t count, std::uint64_t* sent) override {
        const std::uint64_t one = 1;
        for (std::uint32_t i = 0; i < count; ++i) {
            await_receiver(lines, sleep_settle_ns);
            sent[i] = Clock::begin();
            if (::write(fd_, &one, sizeof one) != sizeof one) {
                throw TestFails("write to the eventfd failed");
            }
        }
    }
    std::uint32_t receive(Lines& lines, std::uint32_t count, std::uint64_t* received) override {
        std::uint32_t wrong = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            receiver_waits(lines);
            std::uint64_t signals = 0;
            if (::read(fd_, &signals, sizeof signals) != sizeof signals) {
                throw TestFails("read from the eventfd failed");
            }
            received[i] = Clock::end();
            wrong += signals == 1 ? 0U : 1U;
        }
        return wrong;
    }

  private:
    int fd_;
};

class FutexLeg : public Leg {
  public:
    using Leg::Leg;
    void send(Lines& lines, std::uint32_t count, std::uint64_t* sent) override {
        for (std::uint32_t i = 0; i < count; ++i) {
            await_receiver(lines, sleep_settle_ns);
            sent[i] = Clock::begin();
            lines.futex.word.store(++value_, std::memory_order_release);
            ::syscall(SYS_futex, &lines.futex.word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
        }
    }
    std::uint32_t receive(Lines& lines, std::uint32_t count, std::uint64_t* received) override {
        std::uint32_t wrong = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            receiver_waits(lines);
            std::uint32_t now = 0;
            // Also returns without a wake-up now and then: only the word tells.
            while ((now = lines.futex.word.load(std::memory_order_acquire)) == value_) {
                ::syscall(SYS_futex, &lines.futex.word, FUTEX_WAIT, value_, nullptr, nullptr, 0);
            }
            received[i] = Clock::end();
            wrong += now == ++value_ ? 0U : 1U;
        }
        return wrong;
    }

  private:
    std::uint32_t value_ = 0;
};

template <std::uint32_t N>
class TransferLeg : public Leg {
  public:
    TransferLeg(const Region<>& region, std::int64_t corrupt_at)
        : Leg("transfer_" + std::to_string(N), true),
          box_(&open_channel<Box, N>(region)),
          corrupt_at_(corrupt_at) {}

    [[nodiscard]] std::uint32_t bytes() const override { return N; }

    void send(Lines& lines, std::uint32_t count, std::uint64_t* sent) override {
        if (!writer_) {
            writer_ = std::make_unique<typename Box<N>::Writer>(*box_);
        }
        Package<N> package;
        for (std::uint32_t i = 0; i < count; ++i) {
            random_.fill(package);
            if (done_++ == corrupt_at_) {
                damage(package);
            }
            observed(package);
            await_receiver(lines, spin_settle_ns);
            sent[i] = Clock::begin();
            require(writer_->write(package));
        }
    }
    std::uint32_t receive(Lines& lines, std::uint32_t count, std::uint64_t* received) override {
        if (!reader_) {
            reader_ = std::make_unique<typename Box<N>::Reader>(*box_);
        }
        std::uint32_t wrong = 0;
        Package<N> expected;
        Package<N> package;
        for (std::uint32_t i = 0; i < count; ++i) {
            // Both sides draw the same numbers, so the receiver knows what must come.
            random_.fill(expected);
            receiver_waits(lines);
            require(reader_->read(package));
            observed(package);
            received[i] = Clock::end();
            wrong += same(package, expected) ? 0U : 1U;
        }
        return wrong;
    }

  private:
    typename Box<N>::Shared* box_;
    std::unique_ptr<typename Box<N>::Writer> writer_;
    std::unique_ptr<typename Box<N>::Reader> reader_;
    Random random_{N};
    std::int64_t corrupt_at_;
    std::int64_t done_ = 0;
};

using Legs = std::vector<std::unique_ptr<Leg>>;

// Made before the processes part, so that both hold the same eventfds.
Legs make_legs(const Plan& plan, const Region<>& region) {
    Legs legs;
    for (const std::string& signal : plan.signals) {
        for (const bool to_worker : {true, false}) {
            const std::string name = signal + (to_worker ? "_to_worker" : "_to_master");
            if (signal == "byte") {
                legs.push_back(std::make_unique<ByteLeg>(name, to_worker));
            } else if (signal == "eventfd") {
                legs.push_back(std::make_unique<EventLeg>(name, to_worker));
            } else {
                legs.push_back(std::make_unique<FutexLeg>(name, to_worker));
            }
        }
    }
    for (const std::uint32_t size : plan.sizes) {
        Sizes::with(size, [&]<std::uint32_t N>() {
            legs.push_back(std::make_unique<TransferLeg<N>>(region, plan.corrupt_at));
        });
    }
    return legs;
}

struct Shared {
    SharedObject<Common> common{"consort-one-way-common"};
    SharedMemory lines;
    Times sent;
    Times received;

    Shared(std::size_t legs, std::size_t iterations)
        : lines(SharedMemory::anonymous("consort-one-way-lines", legs * sizeof(Lines))),
          sent(iterations),
          received(iterations) {
        for (std::size_t i = 0; i < legs; ++i) {
            ::new (static_cast<Lines*>(lines.base()) + i) Lines;
        }
    }
    [[nodiscard]] Lines& of(std::size_t leg) const {
        return *std::launder(static_cast<Lines*>(lines.base()) + leg);
    }
};

void sleep_ms(std::uint32_t ms) {
    const timespec time{ms / 1000, static_cast<long>(ms % 1000) * 1'000'000};
    ::nanosleep(&time, nullptr);
}

// One side's part in one run of one series. Both sides meet before and after it.
void take_part(Leg& leg, Lines& lines, const Shared& shared, std::uint32_t count, bool sends) {
    if (sends) {
        leg.send(lines, count, shared.sent.begin());
    } else {
        const std::uint32_t wrong = leg.receive(lines, count, shared.received.begin());
        shared.common->content_errors.word.fetch_add(wrong, std::memory_order_relaxed);
    }
}

// Untimed messages before the first run: code and shared pages are then there on both sides.
constexpr std::uint32_t warm_up = 16;

template <class Meet, class Keep>
void follow(const Plan& plan, const Shared& shared, const Legs& legs, bool is_master, Meet meet, Keep keep) {
    shared.sent.touch();
    shared.received.touch();
    const auto part = [&](std::size_t i, std::uint32_t count) {
        meet();
        take_part(*legs[i], shared.of(i), shared, count, legs[i]->to_worker() == is_master);
        meet();
    };
    for (std::size_t i = 0; i < legs.size(); ++i) {
        part(i, std::min(warm_up, plan.iterations));
    }
    for (std::uint32_t run = 0; run < plan.runs; ++run) {
        for (std::size_t i = 0; i < legs.size(); ++i) {
            sleep_ms(plan.gap_ms);
            part(i, plan.iterations);
            keep(i);
        }
    }
}

void run_worker(const Plan& plan, const PairOptions& options, const Shared& shared, const Legs& legs) {
    RawSignal raw(shared.common->raw);
    const port::RealtimeGuard guard(options.of(options.worker_cpu));
    report_worker(*shared.common, guard.achieved());
    follow(
        plan, shared, legs, false, [&] { raw.answer(); }, [](std::size_t) {});
}

void run_master(const Plan& plan, const PairOptions& options, const Shared& shared, const Legs& legs,
                const std::string& folder) {
    port::RawWriter writer(folder, "consort-one-way");
    RawSignal raw(shared.common->raw);
    std::vector<Samples> tables;
    for (const auto& leg : legs) {
        json::Value attrs = json::object({{"runs", plan.runs},
                                          {"iterations", plan.iterations},
                                          {"direction", leg->to_worker() ? "to worker" : "to master"}});
        if (leg->bytes() > 0) {
            attrs["bytes"] = leg->bytes();
        }
        tables.push_back(samples(leg->name(), std::size_t{plan.runs} * plan.iterations, attrs));
    }
    Samples empty = samples("empty_section", 10'000, json::object());
    std::uint64_t inversions = 0;
    Realtime achieved;
    {
        const port::RealtimeGuard guard(options.of(options.master_cpu));
        achieved = guard.achieved();
        writer.event(Clock::now(), "measuring-begins");
        follow(
            plan, shared, legs, true, [&] { raw.call(); },
            [&](std::size_t leg) {
                for (std::uint32_t i = 0; i < plan.iterations; ++i) {
                    const std::uint64_t sent = shared.sent.begin()[i];
                    const std::uint64_t received = shared.received.begin()[i];
                    // Received before it was sent: the processors' readings differ by more than it took.
                    inversions += received < sent ? 1 : 0;
                    tables[leg].push({received < sent ? 0 : received - sent});
                }
            });
        writer.event(Clock::now(), "measuring-ends");
        measure_empty_section(empty);
    }
    achieved.notes.insert(achieved.notes.end(), options.notes.begin(), options.notes.end());
    const std::uint32_t wrong = shared.common->content_errors.word.load();
    writer.config = options.to_json();
    writer.config["iterations"] = plan.iterations;
    writer.config["runs"] = plan.runs;
    writer.config["gap_ms"] = plan.gap_ms;
    writer.config["worker_realtime"] = worker_report(*shared.common);
    for (const Samples& table : tables) {
        writer.table(table);
    }
    writer.table(empty);
    writer.counter("content_errors", wrong);
    writer.counter("clock_inversions", inversions);
    writer.realtime(achieved);
    writer.finish();
    if (wrong != 0) {
        throw TestFails(std::to_string(wrong) + " messages came with a wrong content");
    }
}

std::vector<std::string> parse_signals(const std::string& text) {
    std::vector<std::string> signals;
    std::size_t at = 0;
    while (at <= text.size()) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const std::string name = text.substr(at, comma - at);
        const bool known = name == "byte" || name == "eventfd" || name == "futex";
        if (!known || std::find(signals.begin(), signals.end(), name) != signals.end()) {
            throw std::invalid_argument("--signals " + text + ": must be of byte, eventfd, futex, each once");
        }
        signals.push_back(name);
        at = comma + 1;
    }
    return signals;
}

int run(const port::Options& options) {
    if (options.given("--help")) {
        std::fputs(help, stdout);
        return port::good;
    }
    if (!options.given("--raw")) {
        throw std::invalid_argument("--raw DIR is missing; see --help");
    }
    const auto whole = [&](const char* name, double otherwise, double least, double most) {
        return static_cast<std::uint32_t>(options.number(name, otherwise, least, most));
    };
    // The last one is hidden, for the test of the check: the sender damages this message of each size.
    const Plan plan{
        whole("--iterations", 1000.0, 1.0, 1e7),
        whole("--runs", 10.0, 1.0, 1e4),
        whole("--gap-ms", 10.0, 0.0, 1e4),
        parse_signals(options.text("--signals", "byte")),
        options.given("--sizes") ? parse_sizes(options.text("--sizes")) : std::vector<std::uint32_t>{},
        static_cast<std::int64_t>(options.number("--corrupt-at", -1.0, -1.0, 1e9))};
    const PairOptions pair(options);
    // Before the processes part: both then convert ticks alike.
    Clock::info();
    const SharedMemory memory = make_region<Box>(plan.sizes);
    const Legs legs = make_legs(plan, attach(memory));
    const Shared shared(legs.size(), std::max(plan.iterations, warm_up));
    return run_pair(
        "consort-one-way", pair, [&] { run_master(plan, pair, shared, legs, options.text("--raw")); },
        [&] { run_worker(plan, pair, shared, legs); });
}

}  // namespace

int main(int argc, char** argv) {
    return run_test("consort-one-way", [&] {
        return run(port::Options(argc, argv,
                                 {"--raw", "--signals", "--sizes", "--iterations", "--runs", "--gap-ms",
                                  "--class", "--cpus", "--seconds", "--parent", "--corrupt-at"},
                                 {"--help"}));
    });
}
