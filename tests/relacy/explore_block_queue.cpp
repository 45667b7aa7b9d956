// SPDX-License-Identifier: Apache-2.0
//
// A queue over a link of two places (E22, E23): a writer, the engine that moves blocks and words, a reader.
// Each side's memory is made of race-checked cells.

#include "explore.hpp"

namespace {

using namespace consort;
using namespace consort::exploration;

// Larger than a word, so that the DMA below can tell the two apart.
struct Value {
    std::uint32_t words[8];
};
static_assert(sizeof(RelacyAccess::Cell<Value>) != sizeof(RelacyAccess::Word));

using Blocks = link::BlockQueue<Value, 1, RelacyAccess>;

// As the engine that copies: words whole and in order, all else as it comes.
struct OrderedDma {
    spm::Transfer transfer{};
    bool busy = false;
    std::uint32_t fails = 0;  // the number of the transfer that fails; 0: none
    std::uint32_t started = 0;
    bool failed = false;

    void start(const spm::Transfer& wanted) noexcept {
        transfer = wanted;
        busy = true;
    }
    [[nodiscard]] spm::DmaState state() noexcept {
        if (!busy) {
            return failed ? spm::DmaState::error : spm::DmaState::idle;
        }
        busy = false;
        failed = ++started == fails;
        if (failed) {
            return spm::DmaState::error;
        }
        for (std::uint32_t i = 0; i < transfer.count; ++i) {
            const spm::Segment& s = transfer.segment[i];
            if (s.bytes == sizeof(RelacyAccess::Word)) {
                auto& to = *reinterpret_cast<RelacyAccess::Word*>(s.to);
                const auto& from = *reinterpret_cast<const RelacyAccess::Word*>(s.from);
                RelacyAccess::store<SyncPoint::link_word_write>(
                    to, RelacyAccess::load<SyncPoint::link_word_read>(from));
            } else {
                using Cell = RelacyAccess::Cell<Value>;
                Value value{};
                reinterpret_cast<const Cell*>(s.from)->get(value);
                reinterpret_cast<Cell*>(s.to)->put(value);
            }
        }
        return spm::DmaState::idle;
    }
    void abort() noexcept { busy = false; }
};

using EngineUnderTest = link::Engine<OrderedDma, 1, Blocks::descriptors, RelacyAccess>;

struct QueueTest {
    Placed<typename Blocks::Shared> shared;
    std::optional<Blocks::Writer> writer;
    std::optional<Blocks::Reader> reader;
    OrderedDma dma;
    std::optional<EngineUnderTest> engine;
    // The writer's place in the ring at its end; the threads' own bookkeeping, not explored.
    bool over = false;

    void make(std::uint32_t fails = 0) {
        writer.emplace(shared.get());
        reader.emplace(shared.get());
        dma = {};
        dma.fails = fails;
        engine.emplace(dma);
        over = false;
        check(engine->attach(0, shared.get().ring, Blocks::near_window(shared.get()),
                             Blocks::far_window(shared.get())),
              "block queue: attached");
    }
    void write(std::uint32_t i) {
        Value value{};
        for (auto& word : value.words) {
            word = i;
        }
        const Status status = consort::detail::wait<Yield>([&] { return writer->try_write(value); });
        check(status == Status::ok, "block queue: write answers ok");
    }
    std::uint32_t read() {
        Value value{};
        const Status status = consort::detail::wait<Yield>([&] { return reader->try_read(value); });
        check(status == Status::ok, "block queue: read answers ok");
        check(value.words[0] == value.words[7], "block queue: a block is whole");
        return value.words[0];
    }
    void serve() {
        while (!over) {
            if (!engine->step(0)) {
                Yield::relax();
            }
        }
    }
};

// Three blocks through two places: the third uses a place again.
template <std::uint32_t Count>
struct InOrder : rl::test_suite<InOrder<Count>, 3>, QueueTest {
    void before() { this->make(); }
    void thread(unsigned index) {
        if (index == 0) {
            for (std::uint32_t i = 1; i <= Count; ++i) {
                this->write(i);
            }
        } else if (index == 1) {
            this->serve();
        } else {
            for (std::uint32_t i = 1; i <= Count; ++i) {
                check(this->read() == i, "block queue: each block once, in order");
            }
            check(this->reader->lost() == 0, "block queue: nothing is lost");
            this->over = true;
        }
    }
};

// The first block's transaction fails: the reader goes on with the second and knows that one is lost.
struct Lost : rl::test_suite<Lost, 3>, QueueTest {
    void before() { this->make(1); }
    void thread(unsigned index) {
        if (index == 0) {
            this->write(1);
            this->write(2);
        } else if (index == 1) {
            this->serve();
        } else {
            check(this->read() == 2, "block queue: the block after the lost one");
            check(this->reader->lost() == 1, "block queue: one block is lost");
            this->over = true;
        }
    }
};

}  // namespace

int main() {
    Report report;
    report.holds<InOrder<1>>("queue over a link, one block", bounded(2));
    report.holds<InOrder<3>>("queue over a link of two places, three blocks", random(20000));
    report.holds<Lost>("queue over a link, a transaction fails", random(20000));
    for (const SyncPoint point : {SyncPoint::link_word_write, SyncPoint::link_word_observe,
                                  SyncPoint::link_word_publish, SyncPoint::link_word_read}) {
        report.found<InOrder<3>>(point, rl::mo_relaxed, random(100000));
    }
    return report.exit_code();
}
