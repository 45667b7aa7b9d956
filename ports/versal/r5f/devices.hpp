// SPDX-License-Identifier: Apache-2.0
//
// The I/O subsystem on the R5F: the Ethernet controller as its device, polled (this board's emulator gives
// the R5F no interrupts), in the time that the kernel leaves. And, where the tables say so, the node on the
// other end of the line: the second controller, in the same free time.
#pragma once

#include <cstdint>

#include "consort/bare/program.hpp"
#include "consort/spm/io.hpp"
#include "consort/versal/devices.hpp"
#include "consort/versal/gem.hpp"
#include "consort/versal/uart_device.hpp"

namespace consort::versal::scratchpad {

// The external node: sends each flow's messages at their times and checks what comes back.
class Node {
  public:
    void start(const IoTables& tables, Ticks start) noexcept {
        tables_ = &tables;
        start_ = start;
        const GemRings rings{tables.node_buffers, tables.node_buffers, tables.message};
        gem_.start(gem1, window + tables.node_rings_at, rings, {2, 1});
        for (std::uint32_t i = 0; i < tables.flows; ++i) {
            next_[i] = start + row(i).offset;
        }
    }
    // Sends or checks one message. False: nothing to do.
    bool serve(Ticks now) noexcept {
        for (std::uint32_t i = 0; i < tables_->flows; ++i) {
            if (result(i).sent < row(i).count && now >= next_[i]) {
                return send(i);
            }
        }
        spm::Message message{};
        if (!gem_.receive(message)) {
            return false;
        }
        check(message, now);
        gem_.release();
        return true;
    }
    [[nodiscard]] std::uint32_t unexpected() const noexcept { return unexpected_; }

  private:
    [[nodiscard]] const FlowRow& row(std::uint32_t i) const noexcept {
        return in_window<const FlowRow>(tables_->flows_at)[i];
    }
    [[nodiscard]] FlowResult& result(std::uint32_t i) const noexcept {
        return in_window<FlowResult>(tables_->results_at + sizeof(IoResults))[i];
    }
    bool send(std::uint32_t i) noexcept {
        const FlowRow& flow = row(i);
        FlowResult& found = result(i);
        const std::uint32_t words = flow.bytes / 4;
        message_[0] = flow.flow;
        message_[1] = found.sent;
        for (std::uint32_t n = 2; n < words; ++n) {
            message_[n] = word_of(flow.flow, found.sent, n);
        }
        if (!gem_.send({flow.flow, flow.bytes, reinterpret_cast<const std::byte*>(message_)})) {
            ++found.held_up;
            return false;
        }
        ++found.sent;
        next_[i] += flow.period;
        return true;
    }
    void check(const spm::Message& message, Ticks now) noexcept {
        const auto* words = reinterpret_cast<const std::uint32_t*>(message.payload);
        std::uint32_t i = 0;
        while (i < tables_->flows && row(i).flow != message.flow) {
            ++i;
        }
        if (i == tables_->flows || message.bytes != row(i).bytes) {
            ++unexpected_;
            return;
        }
        FlowResult& found = result(i);
        const std::uint32_t number = words[1];
        bool right = number < found.sent;
        for (std::uint32_t n = 2; n < message.bytes / 4; ++n) {
            right = right && words[n] == word_of(message.flow, number, n);
        }
        if (!right) {
            ++found.wrong;
        } else if (expected_[i] > number) {
            ++found.repeated;
        } else {
            found.lost += number - expected_[i];
            expected_[i] = number + 1;
            ++found.returned;
            found.last = number;
            const Ticks sent = start_ + row(i).offset + Ticks{number} * row(i).period;
            const auto took = static_cast<std::uint32_t>((now - sent) >> 6U);
            found.longest = took > found.longest ? took : found.longest;
        }
    }

    static constexpr std::uint32_t longest_message = 1504;
    const IoTables* tables_ = nullptr;
    Gem gem_;
    Ticks start_ = 0;
    Ticks next_[IoTables::most_flows] = {};
    std::uint32_t expected_[IoTables::most_flows] = {};
    std::uint32_t unexpected_ = 0;
    std::uint32_t message_[longest_message / 4] = {};
};

// The device that the tables name: Ethernet controller, or the UART that the console is on.
class Device {
  public:
    void start(const IoTables& tables) noexcept {
        serial_ = tables.serial != 0;
        const std::uintptr_t memory = io_at + tables.rings_at;
        if (serial_) {
            uart_.start(uart1, memory, tables.message);
        } else {
            gem_.start(gem0, memory, {tables.receive, tables.send, tables.message}, {1, 2});
        }
    }
    [[nodiscard]] bool receive(spm::Message& in) noexcept {
        return serial_ ? uart_.receive(in) : gem_.receive(in);
    }
    void release() noexcept { serial_ ? uart_.release() : gem_.release(); }
    [[nodiscard]] bool send(const spm::Message& out) noexcept {
        return serial_ ? uart_.send(out) : gem_.send(out);
    }
    [[nodiscard]] std::uint32_t refused() const noexcept {
        return serial_ ? uart_.refused() : gem_.refused();
    }
    [[nodiscard]] std::uint32_t exhausted() const noexcept { return gem_.exhausted(); }

  private:
    Gem gem_;
    UartDevice uart_;
    bool serial_ = false;
};

// Everything behind the kernel's back.
class Devices {
  public:
    using Subsystem = spm::IoSubsystem<Device, IoTables::most_mirrors, IoTables::most_subscriptions>;

    // Returns what is wrong with the tables, or nullptr.
    const char* prepare(const IoTables& tables) noexcept {
        tables_ = &tables;
        if (tables.mirrors > IoTables::most_mirrors || tables.subscriptions > IoTables::most_subscriptions ||
            tables.flows > IoTables::most_flows) {
            return "more mirrors, subscriptions or flows than there is room for";
        }
        const auto* mirrors = in_window<const MirrorRow>(tables.mirrors_at);
        for (std::uint32_t i = 0; i < tables.mirrors; ++i) {
            const MirrorRow& m = mirrors[i];
            setup_[i] = {m.core,
                         m.task,
                         {m.input, m.input_payload},
                         {m.output, m.output_payload},
                         static_cast<spm::OnFull>(m.on_full),
                         reinterpret_cast<std::byte*>(std::uintptr_t{m.input_at}),
                         reinterpret_cast<std::byte*>(std::uintptr_t{m.output_at})};
        }
        const auto* subscriptions = in_window<const SubscriptionRow>(tables.subscriptions_at);
        for (std::uint32_t i = 0; i < tables.subscriptions; ++i) {
            const SubscriptionRow& s = subscriptions[i];
            subscription_[i] = {s.core, s.task, s.flow, s.mask};
        }
        io_ = Subsystem(device_, setup_, tables.mirrors, subscription_, tables.subscriptions);
        device_.start(tables);
        return nullptr;
    }
    void start(Ticks at) noexcept {
        if (tables_->flows != 0) {
            node_.start(*tables_, at);
        }
    }
    [[nodiscard]] Subsystem& subsystem() noexcept { return io_; }

    // One message of the device, or of the node; false: nothing to do. `left`: until the kernel's next turn,
    // before which it has to be over.
    bool serve(Ticks now, Ticks left) noexcept {
        if (left < longest_ * 2) {
            return false;
        }
        // In turn, so that neither holds up the other.
        const bool node_first = tables_->flows != 0 && (turn_ = !turn_);
        const bool served = (node_first && node_.serve(now)) || io_.serve() ||
                            (tables_->flows != 0 && !node_first && node_.serve(now));
        if (served) {
            const Ticks took = bare::ThisPort::now() - now;
            longest_ = took > longest_ ? took : longest_;
        }
        return served;
    }
    void report() const noexcept {
        const spm::IoCounts& c = io_.counts();
        *in_window<IoResults>(tables_->results_at) = {c.received,
                                                      c.unwanted,
                                                      c.delivered,
                                                      c.lost,
                                                      c.sent,
                                                      c.overwritten,
                                                      device_.refused(),
                                                      device_.exhausted(),
                                                      node_.unexpected(),
                                                      static_cast<std::uint32_t>(longest_)};
    }

  private:
    const IoTables* tables_ = nullptr;
    Device device_;
    Node node_;
    spm::MirrorSetup setup_[IoTables::most_mirrors] = {};
    spm::Subscription subscription_[IoTables::most_subscriptions] = {};
    Subsystem io_{device_, setup_, 0, subscription_, 0};
    Ticks longest_ = 0;
    bool turn_ = false;
};

}  // namespace consort::versal::scratchpad
