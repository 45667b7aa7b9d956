// SPDX-License-Identifier: Apache-2.0
//
// Messages reach a task with its load and leave with its unload, whole, and what is lost is counted.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <vector>

#include "simulated.hpp"

namespace {

using namespace simulated;

struct Packet {
    std::uint32_t flow;
    std::vector<std::byte> payload;
};

class Device {
  public:
    bool receive(Message& in) noexcept {
        if (input.empty()) {
            return false;
        }
        const Packet& p = input.front();
        in = {p.flow, static_cast<std::uint32_t>(p.payload.size()), p.payload.data()};
        return true;
    }
    void release() noexcept { input.pop_front(); }
    bool send(const Message& out) noexcept {
        if (closed) {
            return false;
        }
        output.push_back({out.flow, {out.payload, out.payload + out.bytes}});
        return true;
    }
    std::deque<Packet> input;
    std::vector<Packet> output;
    bool closed = false;
};

using Io = IoSubsystem<Device, 8, 8>;

Packet packet(std::uint32_t flow, std::uint32_t number, std::size_t bytes) {
    Packet p{flow, std::vector<std::byte>(bytes)};
    for (std::size_t i = 0; i < bytes; ++i) {
        p.payload[i] = static_cast<std::byte>(std::size_t{number} * 31 + i);
    }
    if (bytes >= 4) {
        std::memcpy(p.payload.data(), &number, 4);
    }
    return p;
}

std::uint32_t number_of(const Message& m) {
    std::uint32_t number = 0;
    std::memcpy(&number, m.payload, 4);
    return number;
}

TEST(MessageBox, KeepsTheNewestOrTheOldest) {
    for (const OnFull policy : {OnFull::overwrite, OnFull::refuse}) {
        const BoxShape shape{3, 10};
        std::vector<std::byte> memory(shape.bytes());
        MessageBox box(memory.data(), shape);
        box.clear();
        for (std::uint32_t i = 0; i < 8; ++i) {
            const Packet p = packet(7, i, 4 + i % 7);
            const Put put =
                box.put({p.flow, static_cast<std::uint32_t>(p.payload.size()), p.payload.data()}, policy);
            EXPECT_EQ(put, i < 3 ? Put::stored : policy == OnFull::overwrite ? Put::replaced : Put::refused);
        }
        ASSERT_EQ(box.count(), 3U);
        EXPECT_EQ(box.lost(), 5U);
        for (std::uint32_t i = 0; i < 3; ++i) {
            const std::uint32_t number = policy == OnFull::overwrite ? 5 + i : i;
            EXPECT_EQ(number_of(box.at(i)), number);
            EXPECT_EQ(box.at(i).bytes, 4 + number % 7);
        }
    }
}

TEST(MessageBox, RefusesWhatIsTooLongAndBelievesNoHeader) {
    const BoxShape shape{2, 8};
    std::vector<std::byte> memory(shape.bytes());
    MessageBox box(memory.data(), shape);
    box.clear();
    const Packet p = packet(1, 1, 9);
    EXPECT_EQ(box.put({1, 9, p.payload.data()}, OnFull::overwrite), Put::refused);
    EXPECT_EQ(box.count(), 0U);
    EXPECT_EQ(box.put({1, 8, p.payload.data()}, OnFull::overwrite), Put::stored);
    std::memset(memory.data(), 0xff, memory.size());
    EXPECT_EQ(box.count(), 2U);
    for (std::uint32_t i = 0; i < 2; ++i) {
        const Message m = box.at(i);
        EXPECT_LE(m.payload + m.bytes, memory.data() + memory.size());
    }
}

TEST(Subscription, ByFlowAndByPrefix) {
    const Subscription exact{0, 0, 0x0a000001};
    EXPECT_TRUE(exact.wants(0x0a000001));
    EXPECT_FALSE(exact.wants(0x0a000002));
    const Subscription prefix = Subscription::prefix(0, 0, 0x0a0000ff, 24);
    EXPECT_TRUE(prefix.wants(0x0a000001));
    EXPECT_FALSE(prefix.wants(0x0a000101));
    EXPECT_TRUE(Subscription::prefix(0, 0, 5, 0).wants(0xffffffff));
    EXPECT_FALSE(Subscription::prefix(0, 0, 5, 32).wants(4));
}

// The paper's test (section VII-B) in virtual time, ticks of 100 ns: a packet of 1000 bytes every 100 us,
// four flows in turn, two tasks on each of two cores, each takes one flow and sends back what it got.
struct Loopback {
    Loopback(Ticks slot, std::uint32_t capacity)
        : slot(slot),
          shape{capacity, 1000},
          memory(16 * std::size_t{shape.bytes()}),
          setups(setups_of()),
          io(device, setups.data(), 4, subscriptions, 4),
          machine(tables(), equal_slots(2, slot), {}, behaviour(), 2 * std::size_t{shape.bytes()} + 256) {
        machine.board.on_inputs = [this](std::uint32_t c, std::uint32_t t) { return io.inputs(c, t); };
        machine.board.on_outputs = [this](std::uint32_t c, std::uint32_t t) { return io.outputs(c, t); };
        machine.board.on_delivered = [this](std::uint32_t c, std::uint32_t t) { io.delivered(c, t); };
    }
    std::vector<MirrorSetup> setups_of() {
        std::vector<MirrorSetup> result;
        for (std::uint32_t i = 0; i < 4; ++i) {
            result.push_back({i / 2, i % 2, shape, shape, OnFull::overwrite,
                              memory.data() + 4 * std::size_t{i} * shape.bytes(),
                              memory.data() + (4 * std::size_t{i} + 2) * shape.bytes()});
        }
        return result;
    }
    std::vector<std::vector<Task>> tables() const {
        Task task;
        // A load and an unload of two tasks, every second slot: as often as the slots let them.
        task.plan.period = task.plan.deadline = static_cast<consort::app::Time>(8 * slot);
        task.image.size.inputs = task.image.size.outputs = shape.bytes();
        return {{task, task}, {task, task}};
    }
    Behaviour behaviour() {
        Behaviour b;
        b.execution = [](std::uint32_t, std::uint32_t, std::uint32_t) { return Ticks{500}; };
        b.compute = [this](std::uint32_t, std::uint32_t, std::uint32_t, const Partition& parts) {
            MessageBox in(const_cast<std::byte*>(parts.inputs), shape);
            MessageBox out(parts.outputs, shape);
            out.clear();
            for (std::uint32_t i = 0; i < in.count(); ++i) {
                (void)out.put(in.at(i), OnFull::refuse);
            }
        };
        return b;
    }
    void run(std::uint32_t packets) {
        for (std::uint32_t n = 0; n < packets; ++n) {
            device.input.push_back(packet(n % 4, n, 1000));
            machine.run((n + 1) * Ticks{1000});
            while (io.serve()) {
            }
        }
    }

    Ticks slot;
    BoxShape shape;
    std::vector<std::byte> memory;
    Device device;
    std::vector<MirrorSetup> setups;
    Subscription subscriptions[4] = {{0, 0, 0}, {0, 1, 1}, {1, 0, 2}, {1, 1, 3}};
    Io io;
    Machine machine;
};

double megabits(const Loopback& l, std::uint32_t packets) {
    return static_cast<double>(l.device.output.size()) * 8000 / (packets * 100.0);
}

TEST(Io, EveryMessageIsWholeInOrderAndCounted) {
    for (const std::uint32_t capacity : {1U, 4U, 16U}) {
        Loopback l(8000, capacity);
        l.run(4000);
        std::map<std::uint32_t, std::uint32_t> last;
        for (const Packet& p : l.device.output) {
            std::uint32_t number = 0;
            std::memcpy(&number, p.payload.data(), 4);
            ASSERT_EQ(p.payload, packet(p.flow, number, 1000).payload);
            ASSERT_EQ(p.flow, number % 4);
            ASSERT_TRUE(!last.contains(p.flow) || last[p.flow] < number);
            last[p.flow] = number;
        }
        const IoCounts& c = l.io.counts();
        EXPECT_EQ(c.received, 4000U);
        EXPECT_EQ(c.unwanted, 0U);
        EXPECT_EQ(c.sent, l.device.output.size());
        EXPECT_EQ(c.delivered, 4000U);
        EXPECT_EQ(c.overwritten, 0U);
        // Messages neither lost nor sent are on their way: in a mirror, a partition or the device's queue.
        EXPECT_LE(c.delivered - c.lost - c.sent, 4 * 4 * capacity);
        EXPECT_EQ(c.lost > 0, capacity < 16);
    }
}

// Bandwidth grows as the slot shrinks and as more messages go with one load.
TEST(Io, BatchesCarryMoreThanFourTimesAsMuch) {
    for (const Ticks slot : {Ticks{8000}, Ticks{4000}}) {
        Loopback paper(slot, 1);
        Loopback batch(slot, 16);
        paper.run(4000);
        batch.run(4000);
        RecordProperty("paper_Mbps_" + std::to_string(slot), std::to_string(megabits(paper, 4000)));
        RecordProperty("batch_Mbps_" + std::to_string(slot), std::to_string(megabits(batch, 4000)));
        EXPECT_GT(megabits(batch, 4000), 4 * megabits(paper, 4000));
    }
    Loopback slow(8000, 1);
    Loopback fast(4000, 1);
    slow.run(4000);
    fast.run(4000);
    EXPECT_NEAR(megabits(fast, 4000) / megabits(slow, 4000), 2.0, 0.05);
}

TEST(Io, ADeviceThatTakesNothingCostsOutputsOnly) {
    Loopback l(8000, 1);
    l.device.closed = true;
    l.run(1000);
    EXPECT_EQ(l.device.output.size(), 0U);
    EXPECT_GT(l.io.counts().overwritten, 10U);
    EXPECT_EQ(l.machine.board.count(Kind::slot_missed) + l.machine.board.count(Kind::slot_overrun), 0U);
}

TEST(Io, UnwantedFlowsAreCounted) {
    Loopback l(8000, 1);
    l.device.input.push_back(packet(9, 0, 1000));
    while (l.io.serve()) {
    }
    EXPECT_EQ(l.io.counts().unwanted, 1U);
    EXPECT_EQ(l.io.counts().delivered, 0U);
}

TEST(Messages, AreWhatAStepTakesAndGives) {
    // As the DMA has brought them: the box that the I/O core filled.
    Messages<2, 5> in{};
    MessageBox filled(in.memory, {2, 5});
    filled.clear();
    const std::byte payload[] = {std::byte{1}, std::byte{2}, std::byte{3}};
    for (std::uint32_t flow = 7; flow < 10; ++flow) {
        (void)filled.put({flow, flow - 6, payload}, OnFull::overwrite);
    }
    const auto& seen = in;
    ASSERT_EQ(seen.count(), 2U);
    EXPECT_EQ(seen.lost(), 1U);
    EXPECT_EQ(seen.at(0).flow, 8U);
    EXPECT_EQ(seen.at(1).bytes, 3U);
    EXPECT_EQ(std::memcmp(seen.at(1).payload, payload, 3), 0);

    Messages<1, 8> out{};
    out.clear();
    EXPECT_EQ(out.put(seen.at(0)), Put::stored);
    EXPECT_EQ(out.put(seen.at(1)), Put::refused);
    EXPECT_EQ(out.count(), 1U);
    EXPECT_EQ(out.at(0).flow, 8U);
    EXPECT_EQ(sizeof out, (BoxShape{1, 8}.bytes()));
}

}  // namespace
