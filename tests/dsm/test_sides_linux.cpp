// SPDX-License-Identifier: Apache-2.0
//
// A shared region between two threads that share nothing else: the host's writes are found by write
// protection, the peer marks its own, and the peer's core moves the bytes.

#include <atomic>
#include <system_error>
#include <thread>

#include "consort/linux/port.hpp"
#include "consort/linux/shared_copy.hpp"
#include "consort/linux/spm_copy_engine.hpp"
#include "shared.hpp"

namespace of_sides_linux {

using namespace consort;
using dsm::Outcome;
using dsm::Right;
using linux_port::Detail;
using linux_port::LinuxPort;
using linux_port::SharedCopy;
using linux_port::WrittenPages;

constexpr std::uint32_t pages = 16;
constexpr std::uint32_t bytes = pages * dsm::page_bytes;
constexpr std::uint32_t window = bytes + pages * 8;

Ticks soon() {
    return LinuxPort::now() + 60 * LinuxPort::ticks_per_second();
}

TEST(SharedCopy, FindsWhatTheProgramWrote) {
    for (const Detail detail : {Detail::pages, Detail::lines}) {
        SharedCopy copy(window, bytes);
        std::optional<WrittenPages> tracker;
        try {
            tracker.emplace(copy, detail);
        } catch (const std::system_error& error) {
            GTEST_SKIP() << error.what();
        }
        std::vector<std::uint64_t> masks(pages);
        dsm::Changes changes(masks.data(), pages);
        copy.window()[5 * dsm::page_bytes] = std::byte{1};
        tracker->collect(changes);
        EXPECT_EQ(changes.changed_pages(), 0U) << "not armed, and written by the engine";
        tracker->arm();
        copy.data()[3 * dsm::page_bytes + 130] = std::byte{1};
        tracker->arm();
        copy.data()[9 * dsm::page_bytes] = std::byte{0};
        tracker->collect(changes);
        EXPECT_EQ(masks[3], detail == Detail::lines ? 1U << 2U : ~std::uint64_t{0});
        EXPECT_EQ(masks[9], detail == Detail::lines ? 0 : ~std::uint64_t{0}) << "the same byte was there";
        EXPECT_EQ(changes.changed_pages(), detail == Detail::lines ? 1U : 2U);
        changes.clear();
        tracker->arm();
        tracker->collect(changes);
        EXPECT_EQ(changes.changed_pages(), 0U) << "each write once";
    }
}

// Both add to words of the region in turn, each on its own; every sum is right in the end.
TEST(SharedRegion, TwoThreadsSeeEachOthersWrites) {
    constexpr std::uint32_t rounds = 400;
    SharedCopy copy(window, bytes);
    std::optional<WrittenPages> tracker;
    try {
        tracker.emplace(copy, Detail::lines);
    } catch (const std::system_error& error) {
        GTEST_SKIP() << error.what();
    }
    using Queue = link::Host<16>;
    using Host = dsm::Host<Queue, access::Coherent, WrittenPages>;
    using Peer = dsm::Peer<>;
    auto ring = std::make_unique<link::Ring<16>::Shared>();
    auto to_peer = std::make_unique<Host::Mail::Shared>();
    auto to_host = std::make_unique<Host::Mail::Shared>();
    std::vector<std::byte> far_bytes(window + 64);
    auto* far =
        reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(far_bytes.data()) + 63) / 64 * 64);
    linux_port::CopyEngine dma{4096};
    link::Engine<linux_port::CopyEngine, 1, 16> engine{dma};
    ASSERT_TRUE(engine.attach(0, *ring, {copy.window(), window}, {far, window}));
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};

    std::vector<std::uint64_t> own(pages), last(pages);
    Queue queue(*ring, {copy.window(), window}, window);
    Host host(*to_peer, *to_host, queue, {0, 0, bytes, bytes}, {own.data(), pages}, {last.data(), pages},
              {reinterpret_cast<std::uint64_t*>(copy.window() + bytes), pages}, Right::write, {}, *tracker);
    // The words that each adds to: one of the other's page, too.
    const auto add = [](std::byte* region, std::uint32_t number) {
        std::uint32_t sum = 0;
        for (const std::uint32_t page : {number % pages, (number * 7) % pages}) {
            std::byte* at = region + page * dsm::page_bytes + number % 64 * 64;
            std::memcpy(&sum, at, sizeof sum);
            sum += number;
            std::memcpy(at, &sum, sizeof sum);
        }
    };
    std::thread other([&] {
        Peer peer(*to_host, *to_peer, far, reinterpret_cast<std::uint64_t*>(far + bytes), pages);
        for (std::uint32_t number = 0; number < rounds;) {
            static_cast<void>(engine.step(LinuxPort::now()));
            if (peer.try_acquire(Right::write)) {
                add(far, number * 2 + 1);
                for (const std::uint32_t page : {(number * 2 + 1) % pages, (number * 2 + 1) * 7 % pages}) {
                    peer.touch(page * dsm::page_bytes + (number * 2 + 1) % 64 * 64, 4);
                }
                peer.release();
                number += 1;
            }
        }
        peer.give_up();
        while (!stop.load()) {
            static_cast<void>(engine.step(LinuxPort::now()));
            static_cast<void>(peer.serve());
            std::this_thread::yield();
        }
        wrong += peer.counts().restarts != 0 ? 1 : 0;
    });
    for (std::uint32_t number = 0; number < rounds; ++number) {
        ASSERT_EQ(host.acquire<LinuxPort>(Right::write, soon()), Outcome::ok);
        add(copy.data(), number * 2);
        host.release();
    }
    // The peer may still have some to do.
    std::vector<std::byte> expected(bytes);
    for (std::uint32_t number = 0; number < 2 * rounds; ++number) {
        add(expected.data(), number);
    }
    bool equal = false;
    const Ticks end = soon();
    while (!equal && LinuxPort::now() < end) {
        ASSERT_EQ(host.acquire<LinuxPort>(Right::read, soon()), Outcome::ok);
        equal = std::memcmp(copy.data(), expected.data(), bytes) == 0;
        host.release();
    }
    EXPECT_TRUE(equal);
    EXPECT_GT(host.moved().bytes_in, 0U);
    EXPECT_LT(host.moved().bytes_in, std::uint64_t{rounds} * 3 * 64 + bytes) << "lines, not pages";
    stop = true;
    other.join();
    EXPECT_EQ(wrong.load(), 0);
}

}  // namespace of_sides_linux
