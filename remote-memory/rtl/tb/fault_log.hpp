// SPDX-License-Identifier: Apache-2.0
// Each cause of a fault by itself, and what the registers and the interrupts of both blocks say of it.
#pragma once

#include "consort/remote/registers.hpp"
#include "traffic.hpp"

namespace sim {

namespace registers {
namespace cblock = consort::remote::cblock;
namespace mblock = consort::remote::mblock;
}  // namespace registers

// What is in the log of a block; all of both blocks have the same places.
struct Logged {
    registers::cblock::Fault fault;
    std::uint64_t address;
    std::uint32_t status;
};

class FaultLog {
  public:
    explicit FaultLog(Pair& pair) : pair_(pair) {
        for (const bool cblock : {true, false}) pair_.write(cblock, registers::cblock::IrqEnable::at(), 0x7F);
    }

    // The log of a block once its interrupt is raised; all is cleared then, and the interrupt has to fall.
    Logged take(bool cblock) {
        const auto raised = [&] { return (cblock ? pair_.top().c_irq_o : pair_.top().m_irq_o) != 0; };
        for (unsigned waited = 0; !raised(); ++waited) {
            if (waited > 8) fail("a fault raises no interrupt");
            pair_.cycle();
        }
        Logged logged{};
        logged.fault.bits = pair_.read(cblock, registers::cblock::Fault::at());
        logged.status = pair_.read(cblock, registers::cblock::IrqStatus::at());
        logged.address = pair_.read(cblock, registers::cblock::FaultHigh::at());
        logged.address = logged.address << 32 | pair_.read(cblock, registers::cblock::FaultLow::at());
        clear(cblock);
        if (raised()) fail("an interrupt is left when its causes are cleared");
        return logged;
    }
    void clear(bool cblock) {
        pair_.write(cblock, registers::cblock::Fault::at(), 1);
        pair_.write(cblock, registers::cblock::IrqStatus::at(), 0x7F);
        for (unsigned i = 0; i < 4; ++i) pair_.cycle();
    }
    std::uint32_t count(bool cblock) { return pair_.read(cblock, registers::cblock::FaultCount::at()); }
    // Fails where the log has something else; a mask of 0 takes any address.
    void expect(bool cblock, const char* what, std::uint32_t cause, bool write, std::uint32_t window,
                std::uint64_t address) {
        const Logged found = take(cblock);
        if (found.fault.valid() != 1 || found.fault.cause() != cause ||
            found.fault.write() != (write ? 1U : 0U) || found.fault.window() != window ||
            found.address != address || found.fault.port() != 0 || (found.status & 1U << cause) == 0)
            fail(std::string(what) + ": the log has cause " + std::to_string(found.fault.cause()) +
                 ", window " + std::to_string(found.fault.window()) + ", address " +
                 std::to_string(found.address) + ", status " + std::to_string(found.status));
        ++checked;
    }
    unsigned checked = 0;

  private:
    Pair& pair_;
};

inline void fault_log() {
    constexpr std::uint64_t kBad = Pair::kBase + 0x8020;
    constexpr unsigned kAnswerAfter = 500;
    Pair pair({}, {.latency = 5, .bad_from = kBad, .bad_to = kBad + 16});
    pair.bring_up();
    FaultLog log(pair);
    pair.write(false, registers::mblock::AnswerAfter::at(), kAnswerAfter);
    log.clear(true);
    log.clear(false);
    for (const bool write : {false, true}) {
        const auto refused = [&](const Address& address, unsigned resp) {
            if (one(pair, address, write).resp != resp) fail("an access is not refused as it should be");
        };
        const auto segment = [&](unsigned control, unsigned last) {
            pair.write(false, 0x404, last);
            pair.write(false, 0x408, control);
        };
        const std::uint64_t at = Pair::kLpa + 0x2340;
        const std::uint64_t nowhere = Pair::kLpa + 0x20'0000'0010;
        refused({.addr = nowhere, .len = 3}, 3);
        log.expect(true, "no window", 1, write, 0, nowhere);
        pair.open(0, 0, 0, 0, write, !write);
        refused({.addr = at}, 2);
        log.expect(true, "rights of a window", 2, write, 0, at);
        pair.open(0, 0, 0, 0, true, true);
        refused({.addr = at, .lock = true}, 2);
        log.expect(true, "exclusive", 3, write, 0, at);
        // At the mBlock, and what the cBlock says of its answer.
        segment(1U << 5 | 7, 0xFFFF);
        refused({.addr = at}, 2);
        log.expect(false, "another generation", 1, write, 0, 0x2340);
        log.expect(true, "another generation, at the cBlock", 6, write, 0, at);
        segment(write ? 3 : 5, 0xFFFF);
        refused({.addr = at}, 2);
        log.expect(false, "rights of a segment", 2, write, 0, 0x2340);
        log.clear(true);
        segment(7, 1);
        refused({.addr = at}, 2);
        log.expect(false, "a segment's end", 3, write, 0, 0x2340);
        log.clear(true);
        segment(7, 0xFFFF);
        // One fault for an access, whatever its beats are.
        const std::uint32_t before = log.count(true);
        refused({.addr = Pair::kLpa + 0x8010, .len = 2}, 2);
        log.expect(false, "an error of the memory", 5, write, 0, 0);
        log.expect(true, "an error of the memory, at the cBlock", 6, write, 0, Pair::kLpa + 0x8010);
        if (log.count(true) != before + 1) fail("an access with an error is not counted once");
        pair.memories[0].answers = false;
        refused({.addr = at}, 2);
        pair.memories[0].answers = true;
        log.expect(false, "a silent memory", 6, false, 0, 0);
        log.clear(true);
        while (pair.read(false, registers::mblock::Silent::at()) != 0) pair.cycle();
        log.clear(false);
    }
    // The first one is kept, and that there were more.
    for (unsigned i = 1; i <= 3; ++i) one(pair, {.addr = 0x1000ULL * i}, false);
    const Logged kept = log.take(true);
    if (kept.address != 0x1000 || kept.fault.overflow() != 1) fail("the log does not keep the first fault");
    // Only what is enabled raises it.
    pair.write(true, registers::cblock::IrqEnable::at(), 1U << 2);
    one(pair, {.addr = 0x1000}, false);
    for (unsigned i = 0; i < 20; ++i) {
        pair.cycle();
        if (pair.top().c_irq_o != 0) fail("a cause that is not enabled raises the interrupt");
    }
    pair.write(true, registers::cblock::IrqEnable::at(), 0x7F);
    log.take(true);

    // The PHY says that its link is down: everything ends, long before the time is over in which nothing
    // comes.
    pair.memories[0].answers = false;
    pair.write(false, registers::mblock::AnswerAfter::at(), 0);
    const std::uint32_t before = log.count(true);
    for (unsigned i = 0; i < 20; ++i) {
        pair.masters[0].read({.addr = Pair::kLpa + 64ULL * i, .len = 3});
        pair.masters[0].write({.addr = Pair::kLpa + 0x4000 + 64ULL * i, .len = 3}, false);
    }
    for (unsigned i = 0; i < 300; ++i) pair.cycle();
    const unsigned lost = pair.masters[0].outstanding();
    pair.top().phy_down_i[0] = 1;
    const auto down_at = pair.now;
    pair.finish();
    const auto ended = pair.now - down_at;
    pair.masters[0].done.clear();
    if (log.count(true) != before + lost) fail("accesses of a lost link are not counted each");
    const Logged gone = log.take(true);
    if (gone.fault.cause() != 5 || gone.status != (1U << 5 | 1U)) fail("a lost link is not in the log");
    if ((log.take(false).status & 1U) == 0) fail("the mBlock does not say that its link went down");
    if (one(pair, {.addr = Pair::kLpa}, false).resp != 2)
        fail("an access while the link is down is not SLVERR");
    log.expect(true, "a link that is down", 4, false, 0, Pair::kLpa);
    pair.top().phy_down_i[0] = 0;
    pair.memories[0].answers = true;
    pair.write_all(true, 0x014, 2048);
    pair.wait_up();
    if (one(pair, {.addr = Pair::kLpa}, false).resp != 0) fail("the link does not come back");
    std::printf("{\"checked\": %u, \"lost\": %u, \"down_after\": 65536, \"ended_in_cycles\": %llu}\n",
                log.checked, lost, static_cast<unsigned long long>(ended));
}

}  // namespace sim
