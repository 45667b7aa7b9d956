// SPDX-License-Identifier: Apache-2.0
//
// The link whose engine is a thread that copies: real threads and real processes, every content checked, no
// time asserted. Also run under ThreadSanitizer.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <vector>

#include "consort/icc.hpp"
#include "consort/linux/link_engine.hpp"
#include "consort/linux/port.hpp"
#include "consort/linux/shared_memory.hpp"

namespace of_link_linux {

using consort::Region;
using consort::RegionMaker;
using consort::Status;
using consort::link::Completing;
using consort::link::Completion;
using consort::link::Direction;
using consort::link::Outcome;
using consort::link::Piece;
using consort::link::Posting;
using consort::link::Window;
using consort::linux_port::Clock;
using consort::linux_port::LinkBell;
using consort::linux_port::LinkEngine;
using consort::linux_port::LinuxPort;
using consort::linux_port::RingBell;
using consort::linux_port::SharedMemory;
using consort::linux_port::sleep_for_completion;

constexpr std::uint32_t slots = 8;
constexpr std::uint32_t window_bytes = 64 * 1024;
using Ring = consort::link::Ring<slots>;
using Host = consort::link::Host<slots, consort::access::Coherent, RingBell>;

Window window_of(void* base) {
    return {static_cast<std::byte*>(base), window_bytes};
}

std::byte content(std::uint32_t transaction, std::uint32_t i) {
    return static_cast<std::byte>(transaction * 13U + i * 5U + i / 256U);
}

// Writes each transaction's content into a part of the host's window of its own, sends it there, fetches it
// back into another part, and compares. `tag` names the transaction; the peer's part is the same.
struct Exchange {
    static constexpr std::uint32_t parts = 4;
    static constexpr std::uint32_t part = window_bytes / (2 * parts);

    explicit Exchange(Host& posting, Window window) : host(&posting), local(window) {}

    [[nodiscard]] static Piece whole(std::uint32_t transaction, bool back, std::uint32_t bytes) {
        const std::uint32_t at = transaction % parts * part;
        return {at + (back ? window_bytes / 2 : 0), at, bytes};
    }
    [[nodiscard]] static std::uint32_t bytes_of(std::uint32_t transaction) {
        return 1 + transaction * 97 % part;
    }
    // Two pieces where there is more than one byte: gathered and scattered.
    [[nodiscard]] bool post(std::uint32_t transaction, bool back, Completing completing) {
        const Piece piece = whole(transaction, back, bytes_of(transaction));
        const std::uint32_t first = piece.bytes / 2;
        const Piece pieces[2] = {{piece.local, piece.remote, first},
                                 {piece.local + first, piece.remote + first, piece.bytes - first}};
        if (!back) {
            for (std::uint32_t i = 0; i < piece.bytes; ++i) {
                local.base[piece.local + i] = content(transaction, i);
            }
        }
        const Posting posting = host->try_post(back ? Direction::from_peer : Direction::to_peer, pieces, 2,
                                               transaction << 1U | (back ? 1U : 0U), completing);
        EXPECT_NE(posting, Posting::refused);
        return posting == Posting::ok;
    }
    [[nodiscard]] std::uint32_t wrong(const Completion& done) const {
        const std::uint32_t transaction = done.tag >> 1U;
        const Piece piece = whole(transaction, true, bytes_of(transaction));
        std::uint32_t bad = done.outcome == Outcome::moved && done.bytes == piece.bytes ? 0 : 1;
        for (std::uint32_t i = 0; (done.tag & 1U) != 0 && i < piece.bytes; ++i) {
            bad += local.base[piece.local + i] == content(transaction, i) ? 0 : 1;
        }
        return bad;
    }

    Host* host;
    Window local;
};

// Up to four transactions go and come back at a time.
template <class Wait>
std::uint32_t run(Exchange& exchange, std::uint32_t transactions, Completing completing, Wait wait) {
    std::uint32_t wrong = 0;
    for (std::uint32_t first = 0; first < transactions; first += Exchange::parts) {
        for (const bool back : {false, true}) {
            std::uint32_t reaped = 0;
            Completion done{};
            const auto reap = [&] {
                const bool got = wait(done) == Status::ok;
                wrong += got && done.tag >> 1U == first + reaped ? exchange.wrong(done) : 1;
                reaped += 1;
            };
            for (std::uint32_t i = 0; i < Exchange::parts; ++i) {
                while (!exchange.post(first + i, back, completing)) {
                    reap();
                }
            }
            while (reaped < Exchange::parts) {
                reap();
            }
        }
    }
    return wrong;
}

// A waiting host lets the engine run where there is one processor for both.
struct Polite {
    static void relax() noexcept { std::this_thread::yield(); }
};

const auto polling = [](Host& host) {
    return [&host](Completion& done) { return host.poll_until<LinuxPort, Polite>(~consort::Ticks{0}, done); };
};

TEST(LinkLinux, TwoThreadsMoveEachContentWhole) {
    std::vector<std::byte> near(window_bytes);
    std::vector<std::byte> far(window_bytes);
    auto ring = std::make_unique<Ring::Shared>();
    LinkEngine<2, slots> engine;
    ASSERT_TRUE(engine.attach(1, *ring, window_of(near.data()), window_of(far.data())));
    EXPECT_FALSE(engine.attach(2, *ring, window_of(near.data()), window_of(far.data())));
    engine.start();
    Host host(*ring, window_of(near.data()), window_bytes);
    Exchange exchange(host, window_of(near.data()));
    EXPECT_EQ(run(exchange, 2000, Completing::by_status, polling(host)), 0U);
    engine.stop();
}

TEST(LinkLinux, BothSidesSleepAndAreWokenByEvents) {
    std::vector<std::byte> near(window_bytes);
    std::vector<std::byte> far(window_bytes);
    auto ring = std::make_unique<Ring::Shared>();
    auto bell = std::make_unique<LinkBell::Shared>();
    auto event = std::make_unique<LinkBell::Shared>();
    LinkEngine<1, slots> engine;
    ASSERT_TRUE(engine.attach(0, *ring, window_of(near.data()), window_of(far.data()), event.get()));
    engine.start(bell.get());
    Host host(*ring, window_of(near.data()), window_bytes, RingBell(bell.get()));
    Exchange exchange(host, window_of(near.data()));
    const auto asleep = [&](Completion& done) {
        return sleep_for_completion(host, *event, ~std::uint64_t{0}, done);
    };
    EXPECT_EQ(run(exchange, 400, Completing::by_event, asleep), 0U);
    EXPECT_GT(event->word.load(), 0U);
    engine.stop();

    Completion done{};
    ASSERT_TRUE(exchange.post(0, false, Completing::by_event));
    EXPECT_EQ(sleep_for_completion(host, *event, Clock::now() + Clock::from_ns(1'000'000), done),
              Status::timeout)
        << "nobody serves the ring any more";
    EXPECT_EQ(host.in_flight(), 1U);
}

TEST(LinkLinux, TwoProcessesMoveEachContentWhole) {
    SharedMemory region = SharedMemory::anonymous("consort-test-link", std::size_t{64} * 1024);
    SharedMemory near = SharedMemory::anonymous("consort-test-near", window_bytes);
    SharedMemory far = SharedMemory::anonymous("consort-test-far", window_bytes);
    auto maker = RegionMaker<>::begin(region.base(), region.bytes(), {});
    ASSERT_TRUE(maker.ok());
    ASSERT_TRUE(maker.value().add<Ring>("queue").ok());
    ASSERT_TRUE(maker.value().add<LinkBell>("bell").ok());
    const auto made = maker.value().publish();
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(made.value().open<consort::link::Ring<2 * slots>>("queue").refusal().reason,
              consort::Reason::wrong_kind)
        << "another number of descriptors";
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        // The peer's process serves; it ends with its parent's kill.
        auto attached = Region<>::attach(region.base(), region.bytes());
        if (!attached.ok()) {
            ::_exit(2);
        }
        auto ring = attached.value().open<Ring>("queue");
        auto bell = attached.value().open<LinkBell>("bell");
        static LinkEngine<1, slots> engine;
        if (!ring.ok() || !bell.ok() ||
            !engine.attach(0, *ring.value(), window_of(near.base()), window_of(far.base()))) {
            ::_exit(3);
        }
        engine.serve(bell.value());
        ::_exit(0);
    }
    auto* ring = made.value().open<Ring>("queue").value();
    auto* bell = made.value().open<LinkBell>("bell").value();
    Host host(*ring, window_of(near.base()), window_bytes, RingBell(bell));
    Exchange exchange(host, window_of(near.base()));
    EXPECT_EQ(run(exchange, 400, Completing::by_status, polling(host)), 0U);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);

    // With the peer dead the host waits no longer than it says.
    Completion done{};
    ASSERT_TRUE(exchange.post(0, false, Completing::by_status));
    EXPECT_EQ(host.poll_until<LinuxPort>(Clock::now() + Clock::from_ns(1'000'000), done), Status::timeout);
    // A new engine takes the ring over and completes what the dead one left.
    LinkEngine<1, slots> heir;
    ASSERT_TRUE(heir.attach(0, *ring, window_of(near.base()), window_of(far.base())));
    heir.start(bell);
    EXPECT_EQ(polling(host)(done), Status::ok);
    EXPECT_EQ(exchange.wrong(done), 0U);
}

}  // namespace of_link_linux
