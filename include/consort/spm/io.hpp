// SPDX-License-Identifier: Apache-2.0
//
// The I/O subsystem (spm-centric-os, section IV-C): what comes from devices reaches a task with its load,
// what it sends leaves with its unload, and nothing in between.
//
//   device -> device buffer -> mirror buffers of the tasks that subscribe to the flow -> (DMA) -> partition
//   partition -> (DMA) -> mirror buffer -> device
//
// All of it is in the I/O core's own memory. Each mirror buffer is double: the DMA reads (writes) one half
// while messages go to (are sent from) the other, so neither waits for the other.
//
// Devices come after everything else: serve() moves one message a call, and the loop of the I/O core calls
// it only while the kernel has nothing to do.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "consort/port.hpp"
#include "consort/spm/message_box.hpp"

namespace consort::spm {

// A task takes the messages whose flow is `flow` where the mask has ones.
struct Subscription {
    std::uint32_t core;
    std::uint32_t task;
    std::uint32_t flow;
    std::uint32_t mask = ~std::uint32_t{0};

    // All flows that begin with the `bits` leading bits of `flow` (an address prefix, 0 … 32).
    [[nodiscard]] static constexpr Subscription prefix(std::uint32_t core, std::uint32_t task,
                                                       std::uint32_t flow, std::uint32_t bits) noexcept {
        const std::uint32_t mask = bits == 0 ? 0 : ~std::uint32_t{0} << (32 - bits);
        return {core, task, flow & mask, mask};
    }
    [[nodiscard]] constexpr bool wants(std::uint32_t f) const noexcept { return (f & mask) == (flow & mask); }
};

// The mirror buffers of one task; `memory` of each holds 2 * shape.bytes(). A task without input (output)
// has a shape of capacity 0.
struct MirrorSetup {
    std::uint32_t core;
    std::uint32_t task;
    BoxShape input{};
    BoxShape output{};
    OnFull on_full = OnFull::overwrite;  // of the input
    std::byte* input_memory = nullptr;
    std::byte* output_memory = nullptr;
};

struct IoCounts {
    std::uint32_t received = 0;     // from the device
    std::uint32_t unwanted = 0;     // no task subscribes to the flow
    std::uint32_t delivered = 0;    // into mirror buffers
    std::uint32_t lost = 0;         // mirror buffer full: an older message or the new one, by its policy
    std::uint32_t sent = 0;         // accepted by the device
    std::uint32_t overwritten = 0;  // outputs that a later job's replaced before the device took them
};

// A device as its driver offers it. None of it blocks. An interrupt-driven driver fills its device buffer in
// its handler, a polled one looks at the device in receive().
template <class D>
concept IoDevice = requires(D& device, Message& in, const Message& out) {
    // True: `in` is the oldest message of the device buffer, and stays until release().
    { device.receive(in) }
    noexcept->std::same_as<bool>;
    { device.release() }
    noexcept;
    // False: not now.
    { device.send(out) }
    noexcept->std::same_as<bool>;
};

template <IoDevice Device, std::size_t max_mirrors, std::size_t max_subscriptions>
class IoSubsystem {
  public:
    // At most max_mirrors and max_subscriptions; a subscription is of a task that has a mirror.
    IoSubsystem(Device& device, const MirrorSetup* mirrors, std::uint32_t mirror_count,
                const Subscription* subscriptions, std::uint32_t subscription_count) noexcept
        : device_(&device), mirrors_(mirror_count), subscriptions_(subscription_count) {
        for (std::uint32_t i = 0; i < mirror_count; ++i) {
            Mirror& m = mirror_[i];
            m.setup = mirrors[i];
            for (std::uint32_t half = 0; half < 2; ++half) {
                m.input[half] =
                    MessageBox(m.setup.input_memory + half * m.setup.input.bytes(), m.setup.input);
                m.output[half] =
                    MessageBox(m.setup.output_memory + half * m.setup.output.bytes(), m.setup.output);
                m.input[half].clear();
                m.output[half].clear();
            }
        }
        for (std::uint32_t i = 0; i < subscription_count; ++i) {
            subscription_[i] = {subscriptions[i], find(subscriptions[i].core, subscriptions[i].task)};
        }
    }

    // --- for the kernel's board

    // At the begin of a load: the messages since the last one. They stay as they are until the next call.
    [[nodiscard]] const std::byte* inputs(std::uint32_t core, std::uint32_t task) noexcept {
        const std::uint32_t i = find(core, task);
        if (i == mirrors_ || mirror_[i].setup.input.capacity == 0) {
            return nullptr;
        }
        Mirror& m = mirror_[i];
        const std::uint32_t frozen = m.filling;
        m.filling = 1 - m.filling;
        m.input[m.filling].clear();
        return m.input[frozen].memory();
    }
    // At the begin of an unload: where its outputs go.
    [[nodiscard]] std::byte* outputs(std::uint32_t core, std::uint32_t task) noexcept {
        const std::uint32_t i = find(core, task);
        if (i == mirrors_ || mirror_[i].setup.output.capacity == 0) {
            return nullptr;
        }
        Mirror& m = mirror_[i];
        // Never the half that is being sent from.
        return m.output[m.waiting != 0 ? 1 - m.sending : m.sending].memory();
    }
    // At the end of an unload.
    void delivered(std::uint32_t core, std::uint32_t task) noexcept {
        const std::uint32_t i = find(core, task);
        if (i == mirrors_) {
            return;
        }
        Mirror& m = mirror_[i];
        if (m.waiting == 2) {
            counts_.overwritten += m.behind;
        } else {
            ++m.waiting;
        }
        m.behind = m.output[m.waiting == 2 ? 1 - m.sending : m.sending].count();
    }

    // --- for the I/O core's loop

    // Moves one message if there is one to move. False: nothing to do.
    bool serve() noexcept {
        // In turn, so that neither direction holds up the other.
        outward_ = !outward_;
        return outward_ ? send() || receive() : receive() || send();
    }

    [[nodiscard]] const IoCounts& counts() const noexcept { return counts_; }

  private:
    struct Mirror {
        MirrorSetup setup{};
        MessageBox input[2];
        MessageBox output[2];
        std::uint32_t filling = 0;  // the input half that messages go to
        std::uint32_t sending = 0;  // the output half that is, or will be, sent from
        std::uint32_t waiting = 0;  // output halves with something to send
        std::uint32_t sent = 0;     // messages of the sending half
        std::uint32_t behind = 0;   // messages of the half that came last
    };
    struct Known {
        Subscription subscription{};
        std::uint32_t mirror = 0;
    };

    [[nodiscard]] std::uint32_t find(std::uint32_t core, std::uint32_t task) const noexcept {
        std::uint32_t i = 0;
        while (i < mirrors_ && (mirror_[i].setup.core != core || mirror_[i].setup.task != task)) {
            ++i;
        }
        return i;
    }

    bool receive() noexcept {
        Message message{};
        if (!device_->receive(message)) {
            return false;
        }
        ++counts_.received;
        bool wanted = false;
        for (std::uint32_t i = 0; i < subscriptions_; ++i) {
            const Known& known = subscription_[i];
            if (known.mirror == mirrors_ || !known.subscription.wants(message.flow)) {
                continue;
            }
            wanted = true;
            Mirror& m = mirror_[known.mirror];
            const Put put = m.input[m.filling].put(message, m.setup.on_full);
            counts_.lost += put == Put::stored ? 0 : 1;
            counts_.delivered += put == Put::refused ? 0 : 1;
        }
        counts_.unwanted += wanted ? 0 : 1;
        device_->release();
        return true;
    }

    bool send() noexcept {
        for (std::uint32_t k = 0; k < mirrors_; ++k) {
            Mirror& m = mirror_[turn_];
            if (m.waiting != 0) {
                const MessageBox& box = m.output[m.sending];
                if (m.sent < box.count()) {
                    if (!device_->send(box.at(m.sent))) {
                        return false;
                    }
                    ++m.sent;
                    ++counts_.sent;
                    return true;
                }
                m.sent = 0;
                m.sending = 1 - m.sending;
                --m.waiting;
                return true;
            }
            turn_ = turn_ + 1 == mirrors_ ? 0 : turn_ + 1;
        }
        return false;
    }

    Device* device_;
    std::uint32_t mirrors_;
    std::uint32_t subscriptions_;
    std::uint32_t turn_ = 0;  // the mirror that sends
    bool outward_ = false;
    IoCounts counts_;
    std::array<Mirror, max_mirrors> mirror_{};
    std::array<Known, max_subscriptions> subscription_{};
};

}  // namespace consort::spm
