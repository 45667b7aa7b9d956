// SPDX-License-Identifier: Apache-2.0
//
// A link whose engine is a thread that copies: between two processes of one machine, or two threads of one.
//
// Both windows and the rings lie in shared memory that the engine's process has mapped. The thread looks at
// the doorbells without a pause, and sleeps once nothing was posted for a while, if it was given a bell.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "consort/icc/form.hpp"
#include "consort/link.hpp"
#include "consort/linux/clock.hpp"
#include "consort/linux/executive/doorbell.hpp"
#include "consort/linux/spm_copy_engine.hpp"
#include "consort/port.hpp"

namespace consort::linux_port {

// The bell that wakes a sleeping side: an object of a region, one for the engine and one for each host.
// Between processes of one kernel only: its words are counted up by either side.
struct LinkBell {
    struct Value {};
    static constexpr std::uint32_t kind = 9;
    static constexpr std::uint32_t parameter = 0;
    static constexpr Form form = Form::shared_lines;

    struct alignas(line_bytes) Shared {
        std::atomic<std::uint32_t> word{0};
        alignas(line_bytes) std::atomic<std::uint32_t> sleeping{0};
    };
};

// Rings one bell: the host's, to wake its engine.
class RingBell {
  public:
    RingBell() = default;
    explicit RingBell(LinkBell::Shared* bell) noexcept : bell_(bell) {}
    void operator()(std::uint32_t /*queue*/) const noexcept {
        if (bell_ != nullptr) {
            ring_doorbell(bell_->word, bell_->sleeping);
        }
    }

  private:
    LinkBell::Shared* bell_ = nullptr;
};

// Rings the bell of the queue whose transaction is complete: the engine's events.
template <std::uint32_t Queues>
class RingBells {
  public:
    void set(std::uint32_t queue, LinkBell::Shared* bell) noexcept { bells_[queue] = bell; }
    void operator()(std::uint32_t queue) const noexcept { RingBell{bells_[queue]}(queue); }

  private:
    LinkBell::Shared* bells_[Queues] = {};
};

// Waits for a completion asleep, if the transaction was posted with Completing::by_event; until the tick
// `deadline`: ok, timeout or peer_fault.
template <link::TransferQueue Q>
[[nodiscard]] Status sleep_for_completion(Q& queue, LinkBell::Shared& bell, std::uint64_t deadline,
                                          link::Completion& completion) noexcept {
    for (;;) {
        const std::uint32_t seen = bell.word.load(std::memory_order_seq_cst);
        const Status status = queue.poll(completion);
        if (status != Status::would_block) {
            return status;
        }
        if (Clock::now() >= deadline) {
            return Status::timeout;
        }
        sleep_for_doorbell(bell.word, bell.sleeping, seen, deadline);
    }
}

template <std::uint32_t Queues, std::uint32_t N>
class LinkEngine {
  public:
    using Ring = link::Ring<N>;
    // The size of the copies, and the looks without anything to do before the thread sleeps.
    static constexpr std::uint32_t piece = 256 * 1024;
    static constexpr std::uint32_t patience = 20'000;

    LinkEngine() = default;
    LinkEngine(const LinkEngine&) = delete;
    LinkEngine& operator=(const LinkEngine&) = delete;
    LinkEngine(LinkEngine&&) = delete;
    LinkEngine& operator=(LinkEngine&&) = delete;
    ~LinkEngine() { stop(); }

    // Before start(). `event` may be null: completion by status alone. False: the number is too high.
    [[nodiscard]] bool attach(std::uint32_t queue, typename Ring::Shared& shared, link::Window host,
                              link::Window peer, LinkBell::Shared* event = nullptr) noexcept {
        if (queue >= Queues) {
            return false;
        }
        events_.set(queue, event);
        return engine_.attach(queue, shared, host, peer);
    }

    // Serves on the calling thread until stop() is called on another. Without a bell it never sleeps.
    void serve(LinkBell::Shared* bell = nullptr) noexcept {
        std::uint32_t idle = 0;
        while (!stopping_.load(std::memory_order_relaxed)) {
            const std::uint32_t seen = bell != nullptr ? bell->word.load(std::memory_order_seq_cst) : 0;
            if (engine_.step(Clock::now())) {
                idle = 0;
            } else if (bell == nullptr || ++idle < patience) {
                isa::relax();
            } else {
                // Not for ever: it also looks whether it is to stop.
                sleep_for_doorbell(bell->word, bell->sleeping, seen, Clock::now() + Clock::from_ns(nap_ns));
            }
        }
    }
    void start(LinkBell::Shared* bell = nullptr) {
        thread_ = std::thread([this, bell] { serve(bell); });
    }
    void stop() noexcept {
        stopping_.store(true, std::memory_order_relaxed);
        if (thread_.joinable()) {
            thread_.join();
        }
    }

  private:
    static constexpr std::uint64_t nap_ns = 10'000'000;

    CopyEngine dma_{piece};
    // A reference to it: the engine holds its events by value.
    struct Forward {
        const RingBells<Queues>* events;
        void operator()(std::uint32_t queue) const noexcept { (*events)(queue); }
    };
    RingBells<Queues> events_;
    link::Engine<CopyEngine, Queues, N, access::Coherent, Forward> engine_{
        dma_, link::Engine<CopyEngine, Queues, N, access::Coherent, Forward>::unlimited, Forward{&events_}};
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace consort::linux_port
