// SPDX-License-Identifier: Apache-2.0
//
// A region with one object of each kind, and a side that attaches to it and uses all that it is handed.
#pragma once

#include "consort/icc/control.hpp"
#include "input.hpp"

namespace consort::fuzz {

struct Payload {
    std::uint32_t number;
    float values[3];
    std::uint16_t flags[4];
};
using Box = Mailbox<Payload>;
using Buffer = DoubleBuffer<Payload>;
using Latest = Snapshot<Payload, 2>;
using Trace = Queue<std::uint32_t, 8>;
using Orders = WorkerControl<>;

inline constexpr std::size_t region_bytes = 8192;

inline void make_region(const Memory& memory) {
    auto maker = RegionMaker<>::begin(memory.base(), memory.bytes(),
                                      {.creator = 1, .object_capacity = 6, .leaf_capacity = 24})
                     .value();
    const bool added = maker.add<Box>("box").ok() && maker.add<Buffer>("buffer").ok() &&
                       maker.add<Latest>("latest").ok() && maker.add<Trace>("trace").ok() &&
                       maker.add<Orders>("orders").ok();
    require(added && maker.publish().ok(), "a region of five objects is made");
}

// Every object handed out lies inside of the memory and can be used, whatever the region says.
template <class C, class Use>
void open_and_use(const Memory& memory, const Region<>& region, const char* name, Use use) {
    auto object = region.open<C>(name);
    if (object.ok()) {
        require(memory.holds(object.value(), sizeof(typename C::Shared)), "an object lies in its memory");
        require(reinterpret_cast<std::uintptr_t>(object.value()) % line_bytes == 0,
                "an object begins a line");
        use(*object.value());
    }
}

inline void attach_and_use(const Memory& memory) {
    auto attached = Region<>::attach(memory.base(), memory.bytes());
    if (!attached.ok()) {
        require(to_string(attached.refusal().reason)[0] != 'u', "a refusal has a reason");
        return;
    }
    const Region<>& region = attached.value();
    const RegionHeader& header = region.header();
    require(header.bytes <= memory.bytes(), "a region is no larger than its memory");
    for (std::uint32_t i = 0; i <= header.object_count; ++i) {
        if (const auto entry = region.object(i); entry.ok()) {
            require(i < header.object_count, "there is no object behind the last");
            require(memory.holds(memory.base() + entry.value().offset, entry.value().bytes),
                    "an entry lies in its memory");
            const auto& found = entry.value();
            for (std::uint32_t k = 0; k < found.leaf_count; ++k) {
                require(region.leaf(found.first_leaf + k).ok(), "the leaves of a sound entry are there");
            }
        }
    }
    Payload payload{};
    open_and_use<Box>(memory, region, "box", [&](Box::Shared& shared) {
        Box::Writer writer(shared);
        Box::Reader reader(shared);
        static_cast<void>(writer.try_write(payload));
        static_cast<void>(reader.try_read(payload));
    });
    open_and_use<Buffer>(memory, region, "buffer", [&](Buffer::Shared& shared) {
        Buffer::Writer writer(shared);
        writer.update(payload);
        static_cast<void>(Buffer::Reader(shared).read_latest(payload));
    });
    open_and_use<Latest>(memory, region, "latest", [&](Latest::Shared& shared) {
        Latest::Writer writer(shared);
        Latest::Reader reader(shared, 1);
        writer.update(payload);
        static_cast<void>(reader.read(payload));
    });
    open_and_use<Trace>(memory, region, "trace", [&](Trace::Shared& shared) {
        Trace::Writer writer(shared);
        Trace::Reader reader(shared);
        std::uint32_t values[16] = {};
        static_cast<void>(writer.write_batch(values, 16));
        static_cast<void>(reader.read_batch(values, 16));
    });
    open_and_use<Orders>(memory, region, "orders", [&](Orders::Shared& shared) {
        Orders::Master master(shared);
        Orders::Worker worker(shared);
        worker.beat();
        static_cast<void>(master.pulse());
    });
}

}  // namespace consort::fuzz
