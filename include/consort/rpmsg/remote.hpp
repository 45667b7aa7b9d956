// SPDX-License-Identifier: Apache-2.0
//
// Remote: a core as the remote processor of Linux's rpmsg: it says what it is in a resource table, announces
// its endpoints by name, sends and receives messages. The core may run long before Linux does; Linux
// attaches.
//
//   Remote<64, 2, Access> remote(shared, address, {{{"rpmsg-raw", 0x400}, {"monitor", 0x401}}});
//   for (;;) {
//       remote.step([&](const Message& message) { ... remote.try_send(...) ... });
//   }
//
// Either side may begin anew at any time. Who attaches raises its epoch and waits until the other one has
// acknowledged it: from then on nobody touches the rings as they were. A message that was under way is lost
// then, whatever its ring says of it: what must not be lost travels by consort/rpmsg/stream.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "consort/rpmsg/window.hpp"

namespace consort::rpmsg {

inline constexpr std::uint32_t header_bytes = 16;
inline constexpr std::uint32_t payload_bytes = buffer_bytes - header_bytes;
inline constexpr std::uint32_t name_bytes = 32;
inline constexpr std::uint32_t names_address = 53;  // where announcements go: RPMSG_NS_ADDR

struct Endpoint {
    // As Linux's drivers are matched by: at most 31 characters.
    const char* name;
    std::uint32_t address;
};

enum class Sent : std::uint8_t {
    ok,
    later,    // the driver is not there, or offers no buffer now
    refused,  // longer than a buffer holds, or no endpoint of this side: trying again is of no use
    fault,    // what the driver offers makes no sense; only a new epoch helps
};

// A message that came. Its bytes are the remote's own copy, until the handler returns.
struct Message {
    std::uint32_t endpoint;  // which of the remote's
    std::uint32_t source;    // the address to answer to
    const std::byte* payload;
    std::uint32_t bytes;
};

template <std::uint32_t N, std::uint32_t Endpoints, class A = access::Coherent>
class Remote {
    static_assert(Endpoints >= 1, "a remote without an endpoint has nothing to say");

  public:
    using Memory = Window<N, A>;
    using Shared = typename Memory::Shared;

    // No driver yet, or a new one sets the rings up; in use; what the driver wrote makes no sense, and only a
    // new epoch helps.
    enum class State : std::uint8_t { waiting, up, fault };

    // `address`: of the window, as the driver reaches it. A remote that begins anew touches no ring; a driver
    // that is there sees the new epoch and attaches again.
    Remote(Shared& shared, std::uint32_t address, const std::array<Endpoint, Endpoints>& endpoints) noexcept
        : shared_(&shared),
          endpoints_(endpoints),
          buffers_{shared.buffers, address + offsetof(Shared, buffers), Memory::buffers_bytes},
          to_driver_(shared.ring[Memory::driver_receives].ring, buffers_, Device::Use::device_writes),
          from_driver_(shared.ring[Memory::driver_sends].ring, buffers_, Device::Use::device_reads),
          doorbell_(own(device().doorbell)),
          faults_(own(device().faults)) {
        Memory::describe(shared, address);
        acknowledge(A::template load<SyncPoint::epoch_observe>(driver().epoch));
        A::template store<SyncPoint::epoch_publish>(device().epoch, own(device().epoch) + 1);
    }
    Remote(const Remote&) = delete;
    Remote& operator=(const Remote&) = delete;
    Remote(Remote&&) = delete;
    Remote& operator=(Remote&&) = delete;
    ~Remote() = default;

    // One bounded step: follows the driver, announces an endpoint, or takes a message in and calls `handler`
    // with it. False: there was nothing to do.
    template <class Handler>
    bool step(Handler&& handler) noexcept {
        const std::uint32_t epoch = A::template load<SyncPoint::epoch_observe>(driver().epoch);
        if (epoch != acknowledged_) {
            acknowledge(epoch);
            return true;
        }
        if (state_ == State::fault) {
            return false;
        }
        const std::uint32_t status =
            A::template load<SyncPoint::vring_fetch>(shared_->first.table.device.status_vrings);
        const bool ready = (status & (status::driver_ok | status::failed)) == status::driver_ok;
        if (ready != (state_ == State::up)) {
            ready ? begin() : leave();
            return true;
        }
        if (state_ != State::up) {
            return false;
        }
        if (announced_ < Endpoints && announce(endpoints_[announced_])) {
            announced_ += 1;
            return true;
        }
        return state_ == State::up && receive(handler);
    }

    // Sends a message from an endpoint of this side.
    [[nodiscard]] Sent try_send(std::uint32_t endpoint, std::uint32_t to, const void* payload,
                                std::uint32_t bytes) noexcept {
        if (endpoint >= Endpoints || bytes > payload_bytes) {
            return Sent::refused;
        }
        if (state_ != State::up) {
            return state_ == State::fault ? Sent::fault : Sent::later;
        }
        return send(endpoints_[endpoint].address, to, payload, bytes);
    }

    [[nodiscard]] State state() const noexcept { return state_; }
    // True if all endpoints are known to the driver.
    [[nodiscard]] bool announced() const noexcept { return state_ == State::up && announced_ == Endpoints; }
    [[nodiscard]] std::uint32_t faults() const noexcept { return faults_; }
    // Messages to an address that is none of this side's, or shorter than their header says.
    [[nodiscard]] std::uint32_t dropped() const noexcept { return dropped_; }

  private:
    using Device = VringDevice<N, A>;
    using Word = typename A::Word;

    [[nodiscard]] auto& driver() noexcept { return shared_->first.handshake.driver; }
    [[nodiscard]] auto& device() noexcept { return shared_->first.handshake.device; }
    [[nodiscard]] static std::uint32_t own(const Word& word) noexcept {
        return A::template load<SyncPoint::own>(word);
    }

    void leave() noexcept { state_ = State::waiting; }
    void begin() noexcept {
        to_driver_.begin();
        from_driver_.begin();
        const bool names = (own(shared_->first.table.device.takes) & feature_names) != 0;
        announced_ = names ? 0 : Endpoints;
        state_ = State::up;
    }
    // Lets go of the rings, and says so.
    void acknowledge(std::uint32_t epoch) noexcept {
        leave();
        A::template store<SyncPoint::own>(shared_->first.table.device.status_vrings, Memory::vrings);
        acknowledged_ = epoch;
        // SYNC POINT epoch_publish: the driver that sees it finds the table as it was written, and no store
        // to a ring comes after.
        A::template store<SyncPoint::epoch_publish>(device().acknowledged, epoch);
    }
    void fault() noexcept {
        state_ = State::fault;
        A::template store<SyncPoint::diagnostic>(device().faults, ++faults_);
    }
    void ring() noexcept { A::template store<SyncPoint::vring_complete>(device().doorbell, ++doorbell_); }

    [[nodiscard]] bool announce(const Endpoint& endpoint) noexcept {
        std::array<std::byte, name_bytes + 8> said{};
        for (std::uint32_t i = 0; i + 1 < name_bytes && endpoint.name[i] != 0; ++i) {
            said[i] = static_cast<std::byte>(endpoint.name[i]);
        }
        const std::uint32_t address = wire(endpoint.address);
        __builtin_memcpy(&said[name_bytes], &address, 4);  // and the flags: 0, the endpoint is there
        return send(endpoint.address, names_address, said.data(), said.size()) == Sent::ok;
    }

    [[nodiscard]] Sent send(std::uint32_t from, std::uint32_t to, const void* payload,
                            std::uint32_t bytes) noexcept {
        Offered buffer{};
        const Status status = to_driver_.take(buffer);
        if (status == Status::would_block) {
            return Sent::later;
        }
        if (status != Status::ok || buffer.bytes < header_bytes + bytes) {
            fault();
            return Sent::fault;
        }
        auto* words = reinterpret_cast<Word*>(buffer.at);
        put(words[0], from);
        put(words[1], to);
        put(words[2], 0);
        put(words[3], bytes);  // and the flags, 0
        const auto* bytes_there = static_cast<const unsigned char*>(payload);
        for (std::uint32_t at = 0; at < bytes; at += 4) {
            std::uint32_t word = 0;
            __builtin_memcpy(&word, bytes_there + at, bytes - at < 4 ? bytes - at : 4);
            put(words[(header_bytes + at) / 4], wire(word));
        }
        to_driver_.give(buffer, header_bytes + bytes);
        ring();
        return Sent::ok;
    }

    template <class Handler>
    bool receive(Handler&& handler) noexcept {
        Offered buffer{};
        const Status status = from_driver_.take(buffer);
        if (status == Status::would_block) {
            return false;
        }
        if (status != Status::ok) {
            fault();
            return true;
        }
        Message message{Endpoints, 0, payload_.data(), 0};
        if (buffer.bytes >= header_bytes && buffer.bytes <= buffer_bytes) {
            const auto* words = reinterpret_cast<const Word*>(buffer.at);
            message.source = own(words[0]);
            const std::uint32_t to = own(words[1]);
            message.bytes = own(words[3]) & 0xffffU;
            if (message.bytes <= buffer.bytes - header_bytes) {
                for (std::uint32_t at = 0; at < message.bytes; at += 4) {
                    const std::uint32_t word = wire(own(words[(header_bytes + at) / 4]));
                    __builtin_memcpy(&payload_[at], &word, 4);
                }
                message.endpoint = endpoint_of(to);
            }
        }
        // Given back first: what the handler does with its copy does not concern the driver.
        from_driver_.give(buffer, 0);
        ring();
        if (message.endpoint == Endpoints) {
            dropped_ += 1;
        } else {
            handler(message);
        }
        return true;
    }
    [[nodiscard]] std::uint32_t endpoint_of(std::uint32_t address) const noexcept {
        std::uint32_t found = 0;
        while (found < Endpoints && endpoints_[found].address != address) {
            ++found;
        }
        return found;
    }
    static void put(Word& word, std::uint32_t value) noexcept {
        A::template store<SyncPoint::own>(word, value);
    }

    Shared* shared_;
    std::array<Endpoint, Endpoints> endpoints_;
    Buffers buffers_;
    Device to_driver_;
    Device from_driver_;
    State state_ = State::waiting;
    std::uint32_t acknowledged_ = 0;
    std::uint32_t announced_ = 0;
    std::uint32_t doorbell_;
    std::uint32_t faults_;
    std::uint32_t dropped_ = 0;
    alignas(8) std::array<std::byte, payload_bytes> payload_{};
};

}  // namespace consort::rpmsg
