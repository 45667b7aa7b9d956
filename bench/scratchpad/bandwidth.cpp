// SPDX-License-Identifier: Apache-2.0
//
// spm-centric-os, section VII.B: `bandwidth MS` offers a packet of 1 KB each 100 us, four flows in turn; two
// tasks on each of two cores take one flow each and send back what they got. Prints JSON: for slots of 800
// and 400 us, and mirrors of one packet (the paper's) and of sixteen, what came back in virtual time and on
// this machine over UDP. Exit 1: a packet came back changed or out of order; 3: the machine lacks something.
//
// The I/O core plays the external node too, in its free time. With too few processors the cores run one
// after the other and what they return is added: under TDMA neither sees the other.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <vector>

#include "consort/linux/json.hpp"
#include "consort/linux/spm_machine.hpp"
#include "consort/linux/spm_udp.hpp"
#include "simulated.hpp"

namespace {

namespace json = consort::linux_port::json;
using namespace consort::linux_port;
namespace spm = consort::spm;
using consort::Ticks;

constexpr std::uint32_t packet_bytes = 1024;
constexpr std::uint32_t flows = 4;
constexpr std::uint64_t packet_ns = 100'000;
constexpr std::uint64_t execution_ns = 50'000;

using Packet = std::array<std::byte, packet_bytes>;

Packet packet(std::uint32_t number) {
    Packet p;
    for (std::size_t i = 0; i < p.size(); ++i) {
        p[i] = static_cast<std::byte>(std::size_t{number} * 31 + i);
    }
    const std::uint32_t flow = number % flows;
    std::memcpy(p.data(), &flow, 4);
    std::memcpy(p.data() + 4, &number, 4);
    return p;
}

// Checks that answers are whole, and those of one flow in order.
class Check {
  public:
    void operator()(const std::byte* data, std::size_t bytes) {
        std::uint32_t number = 0;
        std::memcpy(&number, data + 4, 4);
        const Packet expected = packet(number);
        const bool right = bytes == packet_bytes && std::memcmp(data, expected.data(), packet_bytes) == 0 &&
                           number + 1 > next_[number % flows];
        wrong += right ? 0 : 1;
        next_[number % flows] = number + 1;
        ++returned;
    }
    std::uint32_t returned = 0;
    std::uint32_t wrong = 0;

  private:
    std::array<std::uint32_t, flows> next_{};
};

template <std::uint32_t capacity>
constexpr spm::BoxShape shape{capacity, packet_bytes};

template <std::uint32_t capacity>
void echo(const spm::Partition& parts) {
    spm::MessageBox in(const_cast<std::byte*>(parts.inputs), shape<capacity>);
    spm::MessageBox out(parts.outputs, shape<capacity>);
    out.clear();
    for (std::uint32_t i = 0; i < in.count(); ++i) {
        (void)out.put(in.at(i), spm::OnFull::refuse);
    }
}

template <std::uint32_t capacity>
class Mirrors {
  public:
    std::vector<spm::MirrorSetup> setups() {
        std::vector<spm::MirrorSetup> list;
        for (std::uint32_t i = 0; i < flows; ++i) {
            list.push_back({i / 2, i % 2, shape<capacity>, shape<capacity>, spm::OnFull::overwrite,
                            memory_.data() + 4 * i * bytes, memory_.data() + (4 * i + 2) * bytes});
        }
        return list;
    }

  private:
    static constexpr std::size_t bytes = shape<capacity>.bytes();
    std::vector<std::byte> memory_ = std::vector<std::byte>(4 * flows * bytes);
};

constexpr spm::Subscription subscriptions[flows] = {{0, 0, 0}, {0, 1, 1}, {1, 0, 2}, {1, 1, 3}};

// A task is released as often as the slots let it be loaded and unloaded.
constexpr Ticks period_of(Ticks slot) {
    return 8 * slot;
}

class Queue {
  public:
    bool receive(spm::Message& in) noexcept {
        if (input.empty()) {
            return false;
        }
        in = {0, packet_bytes, input.front().data()};
        std::memcpy(&in.flow, in.payload, 4);
        return true;
    }
    void release() noexcept { input.pop_front(); }
    bool send(const spm::Message& out) noexcept {
        check(out.payload, out.bytes);
        return true;
    }
    std::deque<Packet> input;
    Check check;
};

template <std::uint32_t capacity>
Check in_virtual_time(std::uint64_t slot_ns, std::uint64_t run_ns) {
    Mirrors<capacity> mirrors;
    const std::vector<spm::MirrorSetup> setups = mirrors.setups();
    Queue device;
    spm::IoSubsystem<Queue, flows, flows> io(device, setups.data(), flows, subscriptions, flows);
    simulated::Task task;
    task.plan.period = task.plan.deadline = static_cast<consort::app::Time>(period_of(slot_ns));
    task.image.size.inputs = task.image.size.outputs = shape<capacity>.bytes();
    simulated::Behaviour behaviour;
    behaviour.execution = [](std::uint32_t, std::uint32_t, std::uint32_t) { return Ticks{execution_ns}; };
    behaviour.compute = [](std::uint32_t, std::uint32_t, std::uint32_t, const spm::Partition& parts) {
        echo<capacity>(parts);
    };
    simulated::Machine machine({{task, task}, {task, task}}, simulated::equal_slots(2, slot_ns), {},
                               behaviour, spm::layout_of(task.image.size).bytes);
    machine.board.on_inputs = [&io](std::uint32_t c, std::uint32_t t) { return io.inputs(c, t); };
    machine.board.on_outputs = [&io](std::uint32_t c, std::uint32_t t) { return io.outputs(c, t); };
    machine.board.on_delivered = [&io](std::uint32_t c, std::uint32_t t) { io.delivered(c, t); };
    for (std::uint32_t n = 0; n * packet_ns < run_ns; ++n) {
        device.input.push_back(packet(n));
        machine.run((n + 1) * packet_ns);
        while (io.serve()) {
        }
    }
    return device.check;
}

// The node that the paper has on the other end of the line.
class Node {
  public:
    // Sends what is due, takes what came. False: neither.
    bool operator()(std::uint16_t to) {
        const Ticks now = Clock::now();
        bool did = false;
        if (now >= next_) {
            const Packet p = packet(sent);
            refused += socket_.send(to, p.data(), p.size()) ? 0 : 1;
            ++sent;
            // A node that is late goes on from where it is: it does not make up for it by a burst.
            next_ = std::max(next_ + Clock::from_ns(packet_ns), now);
            did = true;
        }
        std::byte data[2 * packet_bytes];
        const ssize_t bytes = socket_.receive(data, sizeof data);
        if (bytes >= 8) {
            check(data, static_cast<std::size_t>(bytes));
            did = true;
        }
        return did;
    }
    [[nodiscard]] std::uint16_t port() const { return socket_.port(); }

    Check check;
    std::uint32_t sent = 0;
    std::uint32_t refused = 0;

  private:
    UdpSocket socket_;
    Ticks next_ = 0;
};

struct Measured {
    std::uint32_t sent = 0;
    std::uint32_t returned = 0;
    std::uint32_t wrong = 0;
    std::uint32_t missed = 0;
};

template <std::uint32_t capacity>
Measured on_this_machine(std::uint64_t slot_ns, std::uint64_t run_ns, const std::vector<bool>& busy) {
    Mirrors<capacity> mirrors;
    const std::vector<spm::MirrorSetup> setups = mirrors.setups();
    Node node;
    UdpDevice device(node.port(), packet_bytes);
    spm::IoSubsystem<UdpDevice, flows, flows> io(device, setups.data(), flows, subscriptions, flows);
    SpmStep task;
    task.name = "echo";
    task.plan.period = task.plan.deadline =
        static_cast<consort::app::Time>(Clock::from_ns(period_of(slot_ns)));
    task.image.size.inputs = task.image.size.outputs = shape<capacity>.bytes();
    task.job = &echo<capacity>;
    std::vector<std::vector<SpmStep>> cores(2);
    for (std::size_t c = 0; c < cores.size(); ++c) {
        if (busy[c]) {
            cores[c] = {task, task};
        }
    }
    SpmOptions options;
    options.slot = Clock::from_ns(slot_ns);
    options.records = 64 * static_cast<std::size_t>(run_ns / slot_ns) + 1024;
    SpmMachine machine(cores, options);
    machine.connect([&io](std::uint32_t c, std::uint32_t t) { return io.inputs(c, t); },
                    [&io](std::uint32_t c, std::uint32_t t) { return io.outputs(c, t); },
                    [&io](std::uint32_t c, std::uint32_t t) { io.delivered(c, t); },
                    [&] {
                        const bool did = node(device.port());
                        return io.serve() || did;
                    });
    const SpmRun run = machine.run(Clock::from_ns(run_ns));
    Measured found{node.sent, node.check.returned, node.check.wrong, 0};
    for (const spm::Event& e : run.events) {
        found.missed += e.kind == spm::Kind::slot_missed || e.kind == spm::Kind::slot_overrun ? 1 : 0;
    }
    return found;
}

double megabits(std::uint32_t packets, std::uint64_t run_ns) {
    return packets * 8.0 * packet_bytes * 1000 / static_cast<double>(run_ns);
}

template <std::uint32_t capacity>
bool measure(std::uint64_t slot_ns, std::uint64_t run_ns, bool together, json::Value& rows) {
    const Check simulated = in_virtual_time<capacity>(slot_ns, run_ns);
    Measured sum;
    const auto add = [&sum](const Measured& m) {
        sum.sent = std::max(sum.sent, m.sent);
        sum.returned += m.returned;
        sum.wrong += m.wrong;
        sum.missed += m.missed;
    };
    if (together) {
        add(on_this_machine<capacity>(slot_ns, run_ns, {true, true}));
    } else {
        add(on_this_machine<capacity>(slot_ns, run_ns, {true, false}));
        add(on_this_machine<capacity>(slot_ns, run_ns, {false, true}));
    }
    rows.append(json::object({{"slot_us", slot_ns / 1000},
                              {"packets_a_load", capacity},
                              {"simulated_mbps", megabits(simulated.returned, run_ns)},
                              {"measured_mbps", megabits(sum.returned, run_ns)},
                              {"offered", sum.sent},
                              {"returned", sum.returned},
                              {"wrong", sum.wrong + simulated.wrong},
                              {"slots_missed", sum.missed},
                              {"together", together}}));
    return sum.wrong + simulated.wrong == 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t ms = argc == 2 ? std::strtoull(argv[1], nullptr, 10) : 0;
    if (ms == 0) {
        std::fprintf(stderr, "usage: bandwidth MS\n");
        return 2;
    }
    try {
        const bool together = pick_cpus(3).cpus.size() >= 3;
        json::Value rows = json::array();
        bool right = true;
        for (const std::uint64_t slot_us : {800U, 400U}) {
            right = measure<1>(slot_us * 1000, ms * 1'000'000, together, rows) && right;
            right = measure<16>(slot_us * 1000, ms * 1'000'000, together, rows) && right;
        }
        std::cout << rows << '\n';
        return right ? 0 : 1;
    } catch (const TooFewProcessors& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 3;
    }
}
