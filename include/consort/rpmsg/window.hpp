// SPDX-License-Identifier: Apache-2.0
//
// The memory that a remote shares with Linux's rpmsg modules: the resource table, by which Linux finds all
// the rest, the words of the handshake, two vrings and the memory for buffers.
//
// The table is that of Linux's remoteproc (linux/remoteproc.h, "struct resource_table"): an entry of our own
// that says where the handshake and the buffers are, and one that describes the rpmsg device. Both sides
// write its status: the driver while it has the rings, the remote before it acknowledges an epoch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/icc/wire.hpp"
#include "consort/rpmsg/vring.hpp"

namespace consort::rpmsg {

// Device status of VIRTIO 1.2, 2.1, as far as a remote looks at it.
namespace status {
inline constexpr std::uint32_t driver_ok = 4;
inline constexpr std::uint32_t failed = 128;
}  // namespace status

// The driver understands announcements of names.
inline constexpr std::uint32_t feature_names = 1U << 0U;

inline constexpr std::uint32_t buffer_bytes = 512;  // of virtio_rpmsg_bus: MAX_RPMSG_BUF_SIZE

// Types of remoteproc resources. The first one is a vendor's.
namespace resource {
inline constexpr std::uint32_t consort = 128;
inline constexpr std::uint32_t device = 3;
inline constexpr std::uint32_t rpmsg = 7;           // of the device: VIRTIO_ID_RPMSG
inline constexpr std::uint32_t magic = 0x47534d52;  // "RMSG"
inline constexpr std::uint32_t form = 1;            // of the handshake
}  // namespace resource

template <std::uint32_t N, class A = access::Coherent>
struct Window {
    using Word = typename A::Word;
    using Ring = Vring<N, A>;
    static constexpr std::uint32_t page_bytes = 4096;
    static constexpr std::uint32_t buffers_bytes = 2 * N * buffer_bytes;

    struct Table {
        Word version;
        Word entries;
        Word reserved[2];
        Word offsets[2];
        struct Own {
            Word type;
            Word magic;
            Word form;
            Word handshake;  // addresses
            Word buffers;
            Word buffers_bytes;
        } own;
        struct Device {
            Word type;
            Word id;
            Word notify_id;
            Word offers;
            Word takes;  // of the features that are offered, as the driver decides
            Word config_bytes;
            Word status_vrings;  // the device's status in the lowest byte, the number of vrings in the next
            struct Place {
                Word address;
                Word align;
                Word descriptors;
                Word notify_id;
                Word reserved;
            } vring[2];
        } device;
    };
    static_assert(sizeof(Table) == 16 + 8 + 24 + 28 + 40);

    // Counters, never set back while either side lives.
    struct Handshake {
        struct alignas(line_bytes) DriverLine {
            Word epoch;     // raised when it wants the rings, before it sets them up
            Word doorbell;  // raised with each kick
        } driver;
        struct alignas(line_bytes) DeviceLine {
            Word acknowledged;  // the driver's epoch: the device has let go of what was before it
            Word epoch;         // raised when the device has begun anew
            Word doorbell;
            Word faults;  // how often it stopped because what the driver wrote made no sense
        } device;
    };
    struct Shared {
        struct alignas(page_bytes) First {
            alignas(line_bytes) Table table;
            Handshake handshake;
        } first;
        struct alignas(page_bytes) Paged {
            typename Ring::Shared ring;
        } ring[2];
        alignas(page_bytes) std::byte buffers[buffers_bytes];
    };

    // The rings, by what the driver does with them.
    static constexpr std::uint32_t driver_receives = 0;
    static constexpr std::uint32_t driver_sends = 1;

    // Writes the table in place. `address`: of the window, as the driver reaches it.
    static void describe(Shared& shared, std::uint32_t address) noexcept {
        Table& table = shared.first.table;
        const auto put = [](Word& word, std::uint32_t value) {
            A::template store<SyncPoint::own>(word, value);
        };
        put(table.version, 1);
        put(table.entries, 2);
        put(table.reserved[0], 0);
        put(table.reserved[1], 0);
        put(table.offsets[0], offsetof(Table, own));
        put(table.offsets[1], offsetof(Table, device));
        put(table.own.type, resource::consort);
        put(table.own.magic, resource::magic);
        put(table.own.form, resource::form);
        put(table.own.handshake,
            address + static_cast<std::uint32_t>(offsetof(Shared, first) + offsetof(First, handshake)));
        put(table.own.buffers, address + static_cast<std::uint32_t>(offsetof(Shared, buffers)));
        put(table.own.buffers_bytes, buffers_bytes);
        put(table.device.type, resource::device);
        put(table.device.id, resource::rpmsg);
        put(table.device.notify_id, 0);
        put(table.device.offers, feature_names);
        put(table.device.takes, 0);
        put(table.device.config_bytes, 0);
        put(table.device.status_vrings, vrings);
        for (std::uint32_t i = 0; i < 2; ++i) {
            typename Table::Device::Place& place = table.device.vring[i];
            put(place.address, address + static_cast<std::uint32_t>(offsetof(Shared, ring) +
                                                                    i * sizeof(typename Shared::Paged)));
            put(place.align, Ring::align);
            put(place.descriptors, N);
            put(place.notify_id, i);
            put(place.reserved, 0);
        }
    }

    static constexpr std::uint32_t vrings = 2U << 8U;

  private:
    using First = typename Shared::First;
};

}  // namespace consort::rpmsg
