// SPDX-License-Identifier: Apache-2.0
//
// The link's ring of two (E14, E15): transactions of one and of two pieces, the ring wrapped, contents in
// both directions. The windows are race-checked variables, one for each word.

#include "explore.hpp"

namespace {

using namespace consort;
using namespace consort::exploration;
using link::Completing;
using link::Completion;
using link::Direction;
using link::Outcome;
using link::Piece;
using link::Posting;

constexpr std::uint32_t slots = 2;
constexpr std::uint32_t window_words = 4;

// The addresses of the windows: word i of each stands for variable i.
alignas(16) std::byte near_base[window_words * 4];
alignas(16) std::byte far_base[window_words * 4];

struct Variables {
    rl::var<std::uint32_t> near[window_words];
    rl::var<std::uint32_t> far[window_words];

    Variables() {
        for (std::uint32_t i = 0; i < window_words; ++i) {
            near[i](rl::debug_info("zero")).store(0U);
            far[i](rl::debug_info("zero")).store(0U);
        }
    }
    rl::var<std::uint32_t>& at(const std::byte* address) {
        const bool in_near = address >= near_base && address < near_base + sizeof(near_base);
        return in_near ? near[(address - near_base) / 4] : far[(address - far_base) / 4];
    }
};

// Moves a transfer word by word when it is looked at.
struct WordDma {
    Variables* variables = nullptr;
    spm::Transfer transfer{};
    bool busy = false;

    void start(const spm::Transfer& wanted) noexcept {
        transfer = wanted;
        busy = true;
    }
    [[nodiscard]] spm::DmaState state() noexcept {
        for (std::uint32_t i = 0; busy && i < transfer.count; ++i) {
            const spm::Segment& s = transfer.segment[i];
            for (std::uint32_t at = 0; at < s.bytes; at += 4) {
                const std::uint32_t word = variables->at(s.from + at)(rl::debug_info("read")).load();
                variables->at(s.to + at)(rl::debug_info("write")).store(word);
            }
        }
        busy = false;
        return spm::DmaState::idle;
    }
    void abort() noexcept { busy = false; }
};

using RingUnderTest = link::Ring<slots, RelacyAccess>;
using HostUnderTest = link::Host<slots, RelacyAccess>;
using EngineUnderTest = link::Engine<WordDma, 1, slots, RelacyAccess>;

struct LinkTest {
    Placed<typename RingUnderTest::Shared> shared;
    std::optional<Variables> variables;
    WordDma dma;
    std::optional<HostUnderTest> host;
    std::optional<EngineUnderTest> engine;

    void make() {
        variables.emplace();
        dma.variables = &*variables;
        host.emplace(shared.get(), link::Window{near_base, sizeof(near_base)}, sizeof(far_base));
        engine.emplace(dma);
        check(engine->attach(0, shared.get(), {near_base, sizeof(near_base)}, {far_base, sizeof(far_base)}),
              "link: attached");
    }
    // The engine serves until `transactions` are complete.
    void serve(std::uint32_t descriptors) {
        while (RelacyAccess::load<SyncPoint::own>(shared.get().engine.completed) != descriptors) {
            if (!engine->step(0)) {
                Yield::relax();
            }
        }
        check(engine->faults(0) == 0, "link: a sound host never faults");
    }
    void reap(std::uint32_t tag, std::uint32_t bytes) {
        Completion done{};
        const Status status = consort::detail::wait<Yield>([&] { return host->poll(done); });
        check(status == Status::ok && done.tag == tag, "link: completions in the order of posting");
        check(done.outcome == Outcome::moved && done.bytes == bytes, "link: all bytes moved");
    }
    void post(Direction direction, const Piece* pieces, std::uint32_t count, std::uint32_t tag) {
        for (;;) {
            const Posting posting = host->try_post(direction, pieces, count, tag, Completing::by_status);
            check(posting != Posting::refused, "link: a sound transaction is not refused");
            if (posting == Posting::ok) {
                return;
            }
            check(false, "link: room after reaping");
        }
    }
};

// Each word goes to the peer and comes back to another place; the ring wraps after two transactions.
template <std::uint32_t Rounds>
struct ThereAndBack : rl::test_suite<ThereAndBack<Rounds>, 2>, LinkTest {
    void before() { this->make(); }
    void thread(unsigned index) {
        if (index == 1) {
            this->serve(2 * Rounds);
            return;
        }
        for (std::uint32_t i = 1; i <= Rounds; ++i) {
            this->variables->near[0](rl::debug_info("fill")).store(i);
            const Piece there{0, 8, 4};
            const Piece back{4, 8, 4};
            this->post(Direction::to_peer, &there, 1, 2 * i);
            this->post(Direction::from_peer, &back, 1, 2 * i + 1);
            this->reap(2 * i, 4);
            this->reap(2 * i + 1, 4);
            check(this->variables->near[1](rl::debug_info("compare")).load() == i,
                  "link: the content came back");
        }
    }
};

// Two pieces at once: a transaction shows complete only when both were moved.
template <std::uint32_t Rounds>
struct Gathered : rl::test_suite<Gathered<Rounds>, 2>, LinkTest {
    void before() { this->make(); }
    void thread(unsigned index) {
        if (index == 1) {
            this->serve(4 * Rounds);
            return;
        }
        for (std::uint32_t i = 1; i <= Rounds; ++i) {
            this->variables->near[0](rl::debug_info("fill")).store(i);
            this->variables->near[1](rl::debug_info("fill")).store(i + 100);
            const Piece there[2] = {{4, 0, 4}, {0, 12, 4}};
            this->post(Direction::to_peer, there, 2, i);
            this->reap(i, 8);
            const Piece back[2] = {{8, 0, 4}, {12, 12, 4}};
            this->post(Direction::from_peer, back, 2, i);
            this->reap(i, 8);
            check(this->variables->near[2](rl::debug_info("compare")).load() == i + 100 &&
                      this->variables->near[3](rl::debug_info("compare")).load() == i,
                  "link: the pieces came back");
        }
    }
};

// A host is restarted while its transaction is under way: its successor sees its own completions only.
struct HostRestart : rl::test_suite<HostRestart, 2>, LinkTest {
    void before() { this->make(); }
    void thread(unsigned index) {
        if (index == 1) {
            this->serve(2);
            return;
        }
        this->variables->near[0](rl::debug_info("fill")).store(7U);
        const Piece there{0, 8, 4};
        this->post(Direction::to_peer, &there, 1, 1);
        this->host.emplace(this->shared.get(), link::Window{near_base, sizeof(near_base)}, sizeof(far_base));
        const Piece back{4, 8, 4};
        this->post(Direction::from_peer, &back, 1, 2);
        this->reap(2, 4);
        check(this->variables->near[1](rl::debug_info("compare")).load() == 7U,
              "link: the successor's content");
    }
};

}  // namespace

int main() {
    Report report;
    report.holds<ThereAndBack<1>>("link of 2, there and back", bounded(4));
    report.holds<ThereAndBack<2>>("link of 2, two rounds (wraps twice)", bounded(2));
    report.holds<Gathered<2>>("link of 2, transactions of two pieces", bounded(2));
    report.holds<HostRestart>("link of 2, the host is restarted in flight", bounded(3));
    for (const SyncPoint point :
         {SyncPoint::link_post, SyncPoint::link_fetch, SyncPoint::link_complete, SyncPoint::link_reap}) {
        report.found<ThereAndBack<2>>(point, rl::mo_relaxed, random(100000));
    }
    return report.exit_code();
}
