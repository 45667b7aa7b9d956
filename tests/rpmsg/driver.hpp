// SPDX-License-Identifier: Apache-2.0
//
// The driver's side of a vring, and a driver that behaves as Linux's virtio_rpmsg_bus does: what the remote
// is tested against in one process. Written from VIRTIO 1.2 (2.7) and from the words that Linux puts there.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "consort/rpmsg.hpp"

namespace consort::rpmsg::testing {

template <std::uint32_t N, class A = access::Coherent>
class VringDriver {
  public:
    using Ring = Vring<N, A>;
    explicit VringDriver(typename Ring::Shared& shared) noexcept : shared_(&shared) {}

    // Sets all of the ring to zero, as a driver does before it says that it is there.
    void begin() noexcept {
        const auto zero = [](typename A::Word& word) { A::template store<SyncPoint::own>(word, 0); };
        for (auto& descriptor : shared_->descriptor) {
            for (auto* word : {&descriptor.address_low, &descriptor.address_high, &descriptor.bytes,
                               &descriptor.flags_next}) {
                zero(*word);
            }
        }
        zero(shared_->available.flags_head);
        for (auto& word : shared_->available.indices) {
            zero(word);
        }
        zero(shared_->used.flags_head);
        for (auto& used : shared_->used.at) {
            zero(used.index);
            zero(used.bytes);
        }
        posted_ = reaped_ = 0;
    }
    void post(std::uint32_t index, std::uint64_t address, std::uint32_t bytes, std::uint32_t flags) noexcept {
        auto& descriptor = shared_->descriptor[index];
        A::template store<SyncPoint::own>(descriptor.address_low, static_cast<std::uint32_t>(address));
        A::template store<SyncPoint::own>(descriptor.address_high,
                                          static_cast<std::uint32_t>(address >> 32U));
        A::template store<SyncPoint::own>(descriptor.bytes, bytes);
        A::template store<SyncPoint::own>(descriptor.flags_next, flags);
        const std::uint32_t place = posted_ & (N - 1);
        const std::uint32_t shift = 16U * (place % 2);
        auto& pair = shared_->available.indices[place / 2];
        const std::uint32_t other = A::template load<SyncPoint::own>(pair) & ~(0xffffU << shift);
        A::template store<SyncPoint::own>(pair, other | index << shift);
        posted_ += 1;
        A::template store<SyncPoint::vring_post>(shared_->available.flags_head, (posted_ & 0xffffU) << 16U);
    }
    // True if a buffer came back: its index, and the bytes written to it.
    [[nodiscard]] bool reap(std::uint32_t& index, std::uint32_t& bytes) noexcept {
        const std::uint32_t head = A::template load<SyncPoint::vring_reap>(shared_->used.flags_head) >> 16U;
        if (head == (reaped_ & 0xffffU)) {
            return false;
        }
        auto& used = shared_->used.at[reaped_ & (N - 1)];
        index = A::template load<SyncPoint::own>(used.index);
        bytes = A::template load<SyncPoint::own>(used.bytes);
        reaped_ += 1;
        return true;
    }

  private:
    typename Ring::Shared* shared_;
    std::uint32_t posted_ = 0;
    std::uint32_t reaped_ = 0;
};

struct Heard {
    std::uint32_t from;
    std::uint32_t to;
    std::string payload;
};

// As virtio_rpmsg_bus: half of the buffers to receive with, half to send with.
template <std::uint32_t N>
class Linux {
  public:
    using Memory = Window<N>;
    using Shared = typename Memory::Shared;
    static constexpr std::uint32_t local = 1024;  // RPMSG_RESERVED_ADDRESSES

    Linux(Shared& shared, std::uint32_t address) noexcept
        : shared_(&shared),
          address_(address + static_cast<std::uint32_t>(offsetof(Shared, buffers))),
          receive_(shared.ring[Memory::driver_receives].ring),
          send_(shared.ring[Memory::driver_sends].ring) {}

    // Attaches: `turn` gives the remote a step; false: it never acknowledged. `handshake`: whether the epoch
    // is raised at all.
    bool attach(const std::function<void()>& turn, bool handshake = true) {
        names_.clear();
        heard_.clear();
        free_.clear();
        if (handshake) {
            auto& words = shared_->first.handshake;
            const std::uint32_t epoch = words.driver.epoch.load() + 1;
            words.driver.epoch.store(epoch);
            for (int i = 0; words.device.acknowledged.load() != epoch; ++i) {
                if (i == 1000) {
                    return false;
                }
                turn();
            }
        }
        status(0);
        status(1 | 2);  // acknowledge, driver
        shared_->first.table.device.takes.store(shared_->first.table.device.offers.load());
        receive_.begin();
        send_.begin();
        for (std::uint32_t i = 0; i < N; ++i) {
            receive_.post(i, place(i), buffer_bytes, Memory::Ring::flag_write);
            free_.push_back(i);
        }
        status(1 | 2 | 4);
        return true;
    }
    // Without a word to the remote, as a Linux that crashes and boots again; or by the status alone.
    void detach() { status(0); }

    // Takes in what came back.
    void poll() {
        std::uint32_t index = 0;
        std::uint32_t bytes = 0;
        while (receive_.reap(index, bytes)) {
            std::uint32_t head[4];
            const std::byte* at = shared_->buffers + std::size_t{index} * buffer_bytes;
            std::memcpy(head, at, sizeof head);
            Heard heard{head[0], head[1],
                        std::string(reinterpret_cast<const char*>(at) + sizeof head, head[3] & 0xffffU)};
            wrong_ += bytes == sizeof head + heard.payload.size() && head[2] == 0 ? 0 : 1;
            if (heard.to == names_address) {
                std::uint32_t address = 0;
                std::memcpy(&address, heard.payload.data() + name_bytes, 4);
                names_.emplace_back(heard.payload.c_str(), address);
            } else {
                heard_.push_back(std::move(heard));
            }
            receive_.post(index, place(index), buffer_bytes, Memory::Ring::flag_write);
        }
        while (send_.reap(index, bytes)) {
            free_.push_back(index);
        }
    }
    bool send(std::uint32_t to, const std::string& payload, std::uint32_t from = local) {
        if (free_.empty()) {
            return false;
        }
        const std::uint32_t index = free_.front();
        free_.pop_front();
        const std::uint32_t head[4] = {from, to, 0, static_cast<std::uint32_t>(payload.size())};
        std::byte* at = shared_->buffers + std::size_t{N + index} * buffer_bytes;
        std::memcpy(at, head, sizeof head);
        std::memcpy(at + sizeof head, payload.data(), payload.size());
        send_.post(index, place(N + index), static_cast<std::uint32_t>(sizeof head + payload.size()), 0);
        return true;
    }
    void status(std::uint32_t value) {
        shared_->first.table.device.status_vrings.store(Memory::vrings | value);
    }

    [[nodiscard]] std::uint64_t place(std::uint32_t buffer) const {
        return address_ + std::uint64_t{buffer} * buffer_bytes;
    }
    std::vector<std::pair<std::string, std::uint32_t>>& names() { return names_; }
    std::deque<Heard>& heard() { return heard_; }
    [[nodiscard]] std::size_t free() const { return free_.size(); }
    // Entries that are not messages.
    [[nodiscard]] int wrong() const { return wrong_; }
    VringDriver<N>& receiving() { return receive_; }
    VringDriver<N>& sending() { return send_; }

  private:
    Shared* shared_;
    std::uint32_t address_;
    VringDriver<N> receive_;
    VringDriver<N> send_;
    std::vector<std::pair<std::string, std::uint32_t>> names_;
    std::deque<Heard> heard_;
    std::deque<std::uint32_t> free_;
    int wrong_ = 0;
};

}  // namespace consort::rpmsg::testing
