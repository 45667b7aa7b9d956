// SPDX-License-Identifier: Apache-2.0
//
// The dispatcher of one core: jobs run to completion on one stack, and what is more urgent runs on top of
// what it preempts, called from the interrupt that made it ready (basic tasks of OSEK, the rules of Samek's
// "super simple tasker").
//
//   fixed_priority                 the most urgent ready part runs; a more urgent one preempts it, if that is
//                                  above the threshold of what has begun (Wang and Saksena 1999)
//   fixed_priority_non_preemptive  the same, but what has begun runs to its end
//   edf                            the earliest absolute deadline, which is fixed at the release
//
// Ties: what runs goes on. Of others the one made ready first goes first, one that was preempted before all
// that came after it. So a preempted part is always resumed before an equally urgent one begins, and one
// stack is enough under all three policies.
//
// How a port uses it. In an interrupt handler, with interrupts disabled:
//
//     activate(part, key);          // from a timer or a message: any number of them
//     ...
//     if (outermost) dispatch();    // before the interrupted part goes on
//
// and in the loop of the core, interrupts disabled:
//
//     for (;;) { dispatch(); host.idle(); }   // idle() sleeps until an interrupt has been handled
//
// dispatch() enables interrupts around each part that it runs. Nothing here blocks; all is bounded by
// 2 * log2(parts) comparisons and by what the host does.
#pragma once

#include <concepts>
#include <cstdint>

#include "consort/app/ordered.hpp"
#include "consort/app/release.hpp"

namespace consort::app {

enum class Dispatch : std::uint8_t { fixed_priority, fixed_priority_non_preemptive, edf };

// A part of a job that has begun and not ended: it lives on the stack, below the parts that preempted it.
struct Frame {
    // An event that reached it while it was interrupted or waited.
    enum class Signal : std::uint8_t {
        none,
        changed,    // it has something else to do: leave what it does
        withdrawn,  // it was given up: it ends where it is, at no cost
    };
    Time key;  // what another one must be below to go before it
    std::uint32_t part;
    Signal signal;
    Frame* below;
};

// The dispatcher's requirements on its host. `level`: what a key must be below to go before the part once it
// has begun, where it became ready with this one; with a preemption threshold that is less. `admit`: whether
// the part may still begin; if not, the host has withdrawn it or made another one of it ready. `run` executes
// it to its end and is called with interrupts enabled; the frame is the topmost one then. `settle`: after a
// part has ended, before the next is chosen: nothing on a machine, whose interrupts come when they come.
// `enable` and `disable` are about interrupts.
template <class H>
concept DispatchHost = requires(H& host, Frame& frame, std::uint32_t part) {
    { host.admit(part) }
    noexcept->std::same_as<bool>;
    { host.level(part, Time{}) }
    noexcept->std::same_as<Time>;
    { host.run(frame) }
    noexcept;
    { host.settle() }
    noexcept;
    { host.enable() }
    noexcept;
    { host.disable() }
    noexcept;
};

template <class Host>
class Dispatcher {
  public:
    // The smaller key is the more urgent.
    struct Key {
        Time key;
        std::uint64_t order;
        friend constexpr bool operator<(const Key& a, const Key& b) noexcept {
            return a.key != b.key ? a.key < b.key : a.order < b.order;
        }
    };
    using Cell = typename Ordered<Key>::Cell;

    Dispatcher(Host& host, Dispatch policy) noexcept : host_(&host), policy_(policy) {}

    // Forgets everything; `ready` and `frames` are of `parts` elements.
    void reset(Cell* ready, Frame** frames, std::uint32_t parts) noexcept {
        ready_ = Ordered<Key>(ready, parts);
        frames_ = frames;
        for (std::uint32_t i = 0; i < parts; ++i) {
            frames_[i] = nullptr;
        }
        top_ = nullptr;
        order_ = 0;
    }

    // The part becomes ready. It is neither ready nor begun.
    void activate(std::uint32_t part, Time key) noexcept { ready_.set(part, {key, order_++}); }

    // The part is given up, ready or begun.
    void withdraw(std::uint32_t part) noexcept {
        ready_.remove(part);
        if (frames_[part] != nullptr) {
            frames_[part]->signal = Frame::Signal::withdrawn;
            frames_[part] = nullptr;
        }
    }

    // The frame of a part that has begun; null: it has not.
    [[nodiscard]] Frame* frame(std::uint32_t part) const noexcept { return frames_[part]; }
    // The frame that the core executes; null: nothing.
    [[nodiscard]] Frame* top() const noexcept { return top_; }

    // True if a ready part goes before the one that the core executes. One that was given up leaves the stack
    // first.
    [[nodiscard]] bool urgent() const noexcept {
        if (ready_.empty()) {
            return false;
        }
        if (top_ == nullptr) {
            return true;
        }
        return top_->signal != Frame::Signal::withdrawn &&
               policy_ != Dispatch::fixed_priority_non_preemptive && ready_.top_key().key < top_->key;
    }
    // The same, of parts that may still begin.
    [[nodiscard]] bool preempts() noexcept {
        while (urgent()) {
            if (host_->admit(ready_.top())) {
                return true;
            }
        }
        return false;
    }

    // Runs whatever goes before what the core executes. Interrupts are disabled when it is called and when
    // it returns.
    void dispatch() noexcept {
        while (preempts()) {
            const std::uint32_t part = ready_.top();
            Frame frame{host_->level(part, ready_.top_key().key), part, Frame::Signal::none, top_};
            ready_.remove(part);
            frames_[part] = &frame;
            top_ = &frame;
            host_->enable();
            host_->run(frame);
            host_->disable();
            // A part that was given up may be ready anew by now.
            if (frames_[part] == &frame) {
                frames_[part] = nullptr;
            }
            // The preempted part goes on only when that is decided.
            host_->settle();
            top_ = frame.below;
        }
    }

  private:
    Host* host_;
    Dispatch policy_;
    Ordered<Key> ready_;
    Frame** frames_ = nullptr;
    Frame* top_ = nullptr;
    std::uint64_t order_ = 0;
};

}  // namespace consort::app
