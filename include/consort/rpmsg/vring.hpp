// SPDX-License-Identifier: Apache-2.0
//
// Vring: a split virtqueue as VIRTIO 1.2 defines it in 2.7, and its device's side.
//
//   descriptors[N]   written by the driver: where a buffer lies, how long it is
//   available        written by the driver: its head, which counts, and the descriptors that it offers
//   used             written by the device: its head, and which descriptors it gives back
//
// All of it is accessed by aligned 32-bit words, as everything that unlike processors share here: two 16-bit
// numbers of the standard lie in each word of `available`. With `used` on lines of its own each line has one
// writer.
//
// The driver is not trusted. What it offers is read once, into private memory, and checked before it is used:
// a head that no driver can have reached, an index that is none, a buffer outside of the memory for buffers,
// a chain and an unknown flag are a fault.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/icc/status.hpp"
#include "consort/icc/wire.hpp"

namespace consort::rpmsg {

template <std::uint32_t N, class A = access::Coherent>
struct Vring {
    static_assert(N >= 2 && std::has_single_bit(N) && N <= 32768,
                  "a vring has a power of two of descriptors, from 2 to 32,768");

    using Word = typename A::Word;
    static constexpr std::uint32_t descriptors = N;

    struct Descriptor {
        Word address_low;
        Word address_high;
        Word bytes;
        Word flags_next;  // flags in the low half
    };
    struct Used {
        Word index;
        Word bytes;
    };
    struct Shared {
        Descriptor descriptor[N];
        struct Available {
            Word flags_head;  // the head in the high half: how many were offered, modulo 2^16
            Word indices[N / 2];
            Word event;
        } available;
        struct alignas(line_bytes) UsedRing {
            Word flags_head;
            Used at[N];
            Word event;
        } used;
    };
    // The alignment in the resource table.
    static constexpr std::uint32_t align = line_bytes;
    // For words that are words: an exploration's are larger.
    static_assert(sizeof(Word) != 4 || offsetof(Shared, available) == 16 * N);
    static_assert(sizeof(Word) != 4 || offsetof(Shared, used) == round_up(16 * N + 2 * (3 + N), align));

    static constexpr std::uint32_t flag_next = 1;
    static constexpr std::uint32_t flag_write = 2;  // the device writes the buffer
};

// The memory for buffers: where the device reaches it, and where it lies for the driver.
struct Buffers {
    std::byte* base = nullptr;
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;

    [[nodiscard]] constexpr bool holds(std::uint64_t at, std::uint32_t length) const noexcept {
        return at >= address && at - address <= bytes && length <= bytes - (at - address);
    }
};

// A buffer that the driver offered.
struct Offered {
    std::byte* at;
    std::uint32_t bytes;
    std::uint32_t index;  // of its descriptor
};

// Takes buffers in the order in which they are offered, and gives each one back.
template <std::uint32_t N, class A = access::Coherent>
class VringDevice {
  public:
    using Ring = Vring<N, A>;
    // Which of the two the buffers of this ring are for.
    enum class Use : std::uint8_t { device_reads, device_writes };

    VringDevice(typename Ring::Shared& shared, Buffers buffers, Use use) noexcept
        : shared_(&shared), buffers_(buffers), use_(use) {}

    // The ring as it is when a driver has just set it up.
    void begin() noexcept { taken_ = given_ = 0; }

    // ok; would_block: none is offered; peer_fault: what is offered makes no sense.
    [[nodiscard]] Status take(Offered& offered) noexcept {
        // SYNC POINT vring_fetch: synchronizes with the driver's store of the head.
        const std::uint32_t head =
            A::template load<SyncPoint::vring_fetch>(shared_->available.flags_head) >> 16U;
        const std::uint32_t waiting = (head - taken_) & 0xffffU;
        if (waiting == 0) {
            return Status::would_block;
        }
        // Nor can the driver offer what it has not got back.
        if (waiting + ((taken_ - given_) & 0xffffU) > N) {
            return Status::peer_fault;
        }
        const std::uint32_t place = taken_ & (N - 1);
        const std::uint32_t pair = own(shared_->available.indices[place / 2]);
        const std::uint32_t index = (pair >> (16U * (place % 2))) & 0xffffU;
        if (index >= N) {
            return Status::peer_fault;
        }
        const typename Ring::Descriptor& descriptor = shared_->descriptor[index];
        const std::uint64_t address =
            own(descriptor.address_low) | static_cast<std::uint64_t>(own(descriptor.address_high)) << 32U;
        const std::uint32_t bytes = own(descriptor.bytes);
        const std::uint32_t flags = own(descriptor.flags_next) & 0xffffU;
        const std::uint32_t expected = use_ == Use::device_writes ? Ring::flag_write : 0U;
        // Words are read and written whole: the buffer with the rest of its last word lies inside.
        if (flags != expected || address % 4 != 0 || bytes > buffers_.bytes ||
            !buffers_.holds(address, round_up(bytes, 4))) {
            return Status::peer_fault;
        }
        offered = {buffers_.base + (address - buffers_.address), bytes, index};
        taken_ += 1;
        return Status::ok;
    }

    // Gives back a buffer that was taken, with so many bytes written to it.
    void give(const Offered& offered, std::uint32_t written) noexcept {
        typename Ring::Used& used = shared_->used.at[given_ & (N - 1)];
        A::template store<SyncPoint::own>(used.index, offered.index);
        A::template store<SyncPoint::own>(used.bytes, written);
        given_ += 1;
        // SYNC POINT vring_complete: synchronizes with the driver's load of the head. The low half, the
        // flags, stays 0: the driver is to ring the doorbell.
        A::template store<SyncPoint::vring_complete>(shared_->used.flags_head, (given_ & 0xffffU) << 16U);
    }

    // Buffers that were taken and not given back.
    [[nodiscard]] std::uint32_t held() const noexcept { return (taken_ - given_) & 0xffffU; }

  private:
    [[nodiscard]] static std::uint32_t own(const typename A::Word& word) noexcept {
        return A::template load<SyncPoint::own>(word);
    }

    typename Ring::Shared* shared_;
    Buffers buffers_;
    Use use_;
    std::uint32_t taken_ = 0;
    std::uint32_t given_ = 0;
};

}  // namespace consort::rpmsg
