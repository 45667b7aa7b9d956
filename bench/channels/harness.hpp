// SPDX-License-Identifier: Apache-2.0
//
// Ping-pong between two pinned threads, in short blocks: a floor before and after each block of a test.
//
// The host of a virtual machine moves its processors, and the floor itself changes two- to fourfold within
// one run; only the ratio of a test to the floors around it means something.
// docs/explanation/channels.md, "How we measure".
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "consort/linux/clock.hpp"
#include "consort/linux/locked_buffer.hpp"
#include "consort/linux/realtime.hpp"
#include "consort/linux/recorder.hpp"
#include "consort/port.hpp"

namespace bench {

using consort::linux_port::Clock;

// One way of moving a message there and back. `ping` times each of n round trips, `pong` answers them; both
// count messages whose content is not what was sent.
//
// A link may also be a stream: `ping` sends n messages as fast as they fit, `pong` receives them, and the
// time of the whole block is recorded.
class Link {
  public:
    Link(std::string what, std::uint32_t bytes, std::string spin, std::uint32_t messages,
         std::uint32_t stream_capacity = 0)
        : what_(std::move(what)),
          spin_(std::move(spin)),
          bytes_(bytes),
          messages_(messages),
          stream_capacity_(stream_capacity) {}
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    virtual ~Link() = default;

    virtual void ping(std::uint32_t n, std::uint32_t* ticks) = 0;
    virtual void pong(std::uint32_t n) = 0;

    [[nodiscard]] const std::string& what() const { return what_; }
    [[nodiscard]] const std::string& spin() const { return spin_; }
    [[nodiscard]] std::uint32_t bytes() const { return bytes_; }
    // In a block.
    [[nodiscard]] std::uint32_t messages() const { return messages_; }
    // How many messages may be under way; 0 = not a stream, a message is answered before the next.
    [[nodiscard]] std::uint32_t stream_capacity() const { return stream_capacity_; }

    std::atomic<std::uint64_t> content_errors{0};

  private:
    std::string what_;
    std::string spin_;
    std::uint32_t bytes_;
    std::uint32_t messages_;
    std::uint32_t stream_capacity_;
};

// Messages made beforehand: bytes stored just before a wide copy loads them would stall the copy (a store is
// not forwarded to a load that is wider than it), and that stall would be counted as the channel's.
template <class T>
const std::array<T, 8>& messages() {
    static const std::array<T, 8> made = [] {
        std::array<T, 8> all{};
        for (std::size_t i = 0; i < all.size(); ++i) {
            for (std::size_t at = 0; at < sizeof(T); ++at) {
                all[i][at] = static_cast<unsigned char>(i * 31 + at + 1);
            }
        }
        return all;
    }();
    return made;
}

template <class T>
bool same_ends(const T& a, const T& b) {
    std::uint64_t x = 0;
    std::uint64_t y = 0;
    std::memcpy(&x, a.data(), 8);
    std::memcpy(&y, b.data(), 8);
    std::uint64_t differs = x ^ y;
    std::memcpy(&x, a.data() + sizeof(T) - 8, 8);
    std::memcpy(&y, b.data() + sizeof(T) - 8, 8);
    return (differs | (x ^ y)) == 0;
}

// The loops of a link whose two directions are objects with `send(const T&)` and `receive(T&)`.
template <class T, class Side>
void ping_loop(Side& side, std::uint32_t n, std::uint32_t* ticks, std::atomic<std::uint64_t>& errors) {
    const auto& all = messages<T>();
    T in{};
    std::uint64_t wrong = 0;
    std::uint64_t last = Clock::now();
    for (std::uint32_t i = 0; i < n; ++i) {
        const T& out = all[i % all.size()];
        side.send(out);
        side.receive(in);
        const std::uint64_t now = Clock::now();
        ticks[i] = static_cast<std::uint32_t>(now - last);
        last = now;
        wrong += same_ends(in, out) ? 0 : 1;
    }
    errors += wrong;
}

template <class T, class Side>
void pong_loop(Side& side, std::uint32_t n) {
    T value{};
    for (std::uint32_t i = 0; i < n; ++i) {
        side.receive(value);
        side.send(value);
    }
}

struct Block {
    std::uint64_t start;
    std::uint64_t first_sample;
    std::uint32_t link;
    std::uint32_t samples;
};
struct Sample {
    std::uint32_t ticks;
};

// Runs blocks: this thread pings, one other thread pongs.
class Runner {
  public:
    Runner(int pong_cpu, std::size_t max_samples, std::size_t max_blocks)
        : samples_("samples", max_samples),
          blocks_("blocks", max_blocks),
          scratch_(65536),
          pong_([this, pong_cpu] { serve(pong_cpu); }) {
        samples_.field("ticks", &Sample::ticks);
        blocks_.timestamp("start", &Block::start)
            .field("first_sample", &Block::first_sample)
            .field("link", &Block::link)
            .field("samples", &Block::samples);
    }
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;
    ~Runner() {
        stop_ = true;
        pong_.join();
    }

    // The first round trips of a block warm the lines and are not recorded. Of a stream one sample is: the
    // time of all its messages.
    void block(std::vector<std::unique_ptr<Link>>& links, std::uint32_t link) {
        Link& l = *links[link];
        const std::uint32_t warm = l.stream_capacity() == 0 ? 4 : 0;
        const std::uint32_t n = l.messages();
        const std::uint64_t start = Clock::now();
        messages_ = n + warm;
        order_.store(&l);
        l.ping(n + warm, scratch_.data());
        while (done_.load() != 1) {
            consort::isa::relax();
        }
        const std::uint64_t end = Clock::now();
        done_.store(0);
        if (l.stream_capacity() != 0) {
            blocks_.push({start, samples_.size(), link, 1});
            samples_.push({static_cast<std::uint32_t>(end - start)});
            return;
        }
        blocks_.push({start, samples_.size(), link, n});
        for (std::uint32_t i = warm; i < n + warm; ++i) {
            samples_.push({scratch_[i]});
        }
    }

    [[nodiscard]] bool room() const {
        return samples_.size() + scratch_.size() < samples_.capacity() &&
               blocks_.size() + 2 < blocks_.capacity();
    }
    consort::linux_port::Table<Sample>& samples() { return samples_; }
    consort::linux_port::Table<Block>& blocks() { return blocks_; }

  private:
    void serve(int cpu) {
        consort::linux_port::RealtimeOptions options;
        options.cpu = cpu;
        options.policy = SCHED_OTHER;
        options.priority = 0;
        const consort::linux_port::RealtimeGuard pinned(options);
        for (;;) {
            if (stop_.load(std::memory_order_relaxed)) {
                return;
            }
            Link* const order = order_.load();
            if (order == nullptr) {
                consort::isa::relax();
                continue;
            }
            order_.store(nullptr);
            order->pong(messages_);
            done_.store(1);
        }
    }

    consort::linux_port::Table<Sample> samples_;
    consort::linux_port::Table<Block> blocks_;
    std::vector<std::uint32_t> scratch_;
    std::uint32_t messages_ = 0;
    alignas(64) std::atomic<Link*> order_{nullptr};
    std::atomic<bool> stop_{false};
    alignas(64) std::atomic<std::uint32_t> done_{0};
    std::thread pong_;
};

}  // namespace bench
