// SPDX-License-Identifier: Apache-2.0
//
// How often the double buffer tears when its writer runs flat out: reported, not asserted, because it depends
// on the machine (test_torn_read.cpp asserts that it can). The snapshot in the same situation never does.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <iostream>
#include <thread>

#include "consort/icc.hpp"
#include "pattern.hpp"

namespace {

using consort::Status;
using Value = consort::test::Pattern<256>;
constexpr std::uint32_t reads = 500000;
constexpr std::uint32_t new_values = 300;

template <class Channel, class Read>
std::uint32_t torn(Read read) {
    alignas(64) static typename Channel::Shared shared{};
    std::atomic<bool> stop{false};
    std::atomic<bool> begun{false};
    std::thread thread([&] {
        typename Channel::Writer writer(shared);
        for (std::uint32_t i = 1; !stop.load(std::memory_order_relaxed); ++i) {
            writer.update(Value::of(i));
            begun.store(true, std::memory_order_release);
        }
    });
    while (!begun.load(std::memory_order_acquire)) {
        std::this_thread::yield();
    }
    const std::uint32_t count = read(shared);
    stop.store(true, std::memory_order_relaxed);
    thread.join();
    return count;
}

TEST(Tearing, ReportsHowOftenADoubleBufferTears) {
    using Channel = consort::DoubleBuffer<Value>;
    std::uint32_t got = 0;
    const std::uint32_t count = torn<Channel>([&](Channel::Shared& shared) {
        const Channel::Reader reader(shared);
        std::uint32_t mixtures = 0;
        for (std::uint32_t i = 0; i < reads; ++i) {
            Value value{};
            got += reader.read_latest(value) == Status::ok ? 1 : 0;
            mixtures += value.whole() ? 0 : 1;
            if (i % 1024 == 0) {
                // Where both share a processor, the writer gets its turn.
                std::this_thread::yield();
            }
        }
        return mixtures;
    });
    EXPECT_EQ(got, reads);
    std::cout << "counted: " << count << " of " << reads << " double-buffer reads of " << sizeof(Value)
              << " bytes torn, writer flat out\n";
    RecordProperty("torn", static_cast<int>(count));
}

TEST(Tearing, ASnapshotNeverTears) {
    using Channel = consort::Snapshot<Value, 1>;
    const std::uint32_t count = torn<Channel>([](Channel::Shared& shared) {
        Channel::Reader reader(shared, 0);
        std::uint32_t mixtures = 0;
        for (std::uint32_t copies = 0; copies < new_values;) {
            Value value{};
            if (reader.read(value) == Status::ok) {
                ++copies;
                mixtures += value.whole() ? 0 : 1;
            } else {
                std::this_thread::yield();
            }
        }
        return mixtures;
    });
    EXPECT_EQ(count, 0U);
    std::cout << "counted: " << count << " of " << new_values << " snapshot reads torn\n";
}

}  // namespace
