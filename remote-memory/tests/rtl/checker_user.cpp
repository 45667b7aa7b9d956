// SPDX-License-Identifier: Apache-2.0
// Shows the checkers good traffic, and in each case but "good" one thing that their rules forbid.
#include <cstdio>
#include <memory>
#include <string>

#include "Vtop.h"
#include "axi.hpp"

namespace {

struct Bus {
    VerilatedContext context;
    std::unique_ptr<Vtop> top = std::make_unique<Vtop>(&context);
    const std::string what;

    explicit Bus(std::string given) : what(std::move(given)) {
        top->rst_ni = 0;
        cycle();
        top->rst_ni = 1;
        top->aw_valid_i = is("AW after the reset");
        top->w_valid_i = is("W after the reset");
        top->b_valid_i = is("B after the reset");
        top->ar_valid_i = is("AR after the reset");
        top->r_valid_i = is("R after the reset");
        cycle();
        top->aw_valid_i = top->w_valid_i = top->b_valid_i = top->ar_valid_i = top->r_valid_i = 0;
        top->aw_ready_i = top->w_ready_i = top->b_ready_i = top->ar_ready_i = top->r_ready_i = 1;
    }
    [[nodiscard]] bool is(const char* name) const { return what == name; }
    void cycle() {
        top->clk_i = 0;
        top->eval();
        top->clk_i = 1;
        top->eval();
    }
    void aw(const sim::Address& address) {
        address.pack(top->aw_i);
        top->aw_valid_i = 1;
        cycle();
        top->aw_valid_i = 0;
    }
    void ar(const sim::Address& address) {
        address.pack(top->ar_i);
        top->ar_valid_i = 1;
        cycle();
        top->ar_valid_i = 0;
    }
    void w(bool last, unsigned strobes = 0) {
        sim::put(top->w_i, 0, 1, last);
        sim::put(top->w_i, 1, 16, strobes);
        top->w_valid_i = 1;
        cycle();
        top->w_valid_i = 0;
    }
    void b(std::uint16_t id, unsigned resp = 0) {
        top->b_i = static_cast<std::uint32_t>(id) << 2 | resp;
        top->b_valid_i = 1;
        cycle();
        top->b_valid_i = 0;
    }
    void r(std::uint16_t id, bool last, unsigned resp = 0) {
        sim::put(top->r_i, 0, 1, last);
        sim::put(top->r_i, 1, 2, resp);
        sim::put(top->r_i, 3, 16, id);
        top->r_valid_i = 1;
        cycle();
        top->r_valid_i = 0;
    }
};

// Shown for two cycles without being taken, then taken; a fault is that it goes, or that it changes.
template <class Valid, class Ready, class Change>
void waits(Bus& bus, const std::string& channel, Valid& valid, Ready& ready, Change change) {
    ready = 0;
    valid = 1;
    bus.cycle();
    if (bus.what == channel + " goes") valid = 0;
    if (bus.what == channel + " changes") change();
    bus.cycle();
    ready = 1;
    bus.cycle();
    valid = 0;
}

void streams(Bus& bus) {
    auto& top = *bus.top;
    const auto next = [](auto& data) { return [&data] { ++data; }; };
    waits(bus, "stream", top.stream_valid_i, top.stream_ready_i, next(top.stream_data_i));
    // A cleared offer may go, in that cycle and as something else.
    top.stream_ready_i = 0;
    top.stream_valid_i = 1;
    bus.cycle();
    top.stream_clear_i = bus.is("stream goes without a reason") ? 0 : 1;
    top.stream_valid_i = 0;
    bus.cycle();
    top.stream_valid_i = 1;
    bus.cycle();
    top.stream_clear_i = 0;
    ++top.stream_data_i;
    bus.cycle();
    if (bus.is("stream changes after it was cleared")) ++top.stream_data_i;
    bus.cycle();

    top.up_i = 1;
    waits(bus, "PHY", top.phy_valid_i, top.phy_ready_i, next(top.phy_data_i));
    waits(bus, "frames", top.frames_valid_i, top.frames_ready_i, next(top.frames_data_i));
    waits(bus, "units", top.units_valid_i, top.units_ready_i, next(top.units_data_i));
    // With the link what was received may go, not what is shown to the PHY.
    top.phy_ready_i = top.frames_ready_i = top.units_ready_i = 0;
    top.phy_valid_i = top.frames_valid_i = top.units_valid_i = 1;
    bus.cycle();
    top.up_i = bus.is("frames go without the link") ? 1 : 0;
    top.frames_valid_i = top.units_valid_i = 0;
    if (bus.is("PHY goes with the link")) top.phy_valid_i = 0;
    bus.cycle();
    top.phy_ready_i = 1;
    bus.cycle();
    top.phy_valid_i = 0;
}

void credits(Bus& bus) {
    auto& top = *bus.top;
    const auto take = [&](unsigned want, unsigned give, bool enough = true) {
        top.want_i = static_cast<std::uint8_t>(want);
        top.take_i = want != 0;
        top.give_i = static_cast<std::uint8_t>(give);
        top.enough_i = enough;
        bus.cycle();
        top.take_i = top.give_i = 0;
    };
    take(10, 0);
    take(bus.is("more out than there is") ? 7 : 6, 0);
    take(0, 5, false);
    take(4, 4);
    if (bus.is("taken where there was not enough")) take(1, 0, false);
    take(0, bus.is("more given back than taken") ? 12 : 11);
    if (bus.is("given back twice")) take(0, 11);
    take(16, 0);
    // Afterwards all are there again.
    top.credit_clear_i = 1;
    take(0, 0);
    top.credit_clear_i = 0;
    if (bus.is("given back after all were cleared")) take(0, 1);
    take(16, 0);
    take(0, 16);
}

// Strobes, AxCACHE and exclusive accesses; nothing is outstanding when it begins, nor when it ends.
void attributes(Bus& bus) {
    using sim::Address;
    // From byte 5 of a beat of 4 bytes on: lanes 5 to 7, then 8 to 11.
    const Address narrow{.addr = 0x6005, .id = 3, .len = 1, .size = 2};
    bus.aw(narrow);
    bus.w(false, bus.is("strobe below the address") ? 0x10 : 0xE0);
    bus.w(true, bus.is("strobe of the next beat") ? 0x1000 : 0xF00);
    bus.b(3);
    // The same with the data first, whole and in part.
    bus.w(false, 0xE0);
    bus.w(true, bus.is("strobe of another beat, before its address") ? 0xF0 : 0xF00);
    bus.aw(narrow);
    bus.b(3);
    bus.w(false, bus.is("strobe below the address that comes later") ? 0xF0 : 0xE0);
    bus.aw(narrow);
    bus.w(true, bus.is("strobe of the next beat, after its address") ? 0x1F00 : 0xF00);
    bus.b(3);
    // Wrapped: the last beat's lanes are below the first one's. Fixed: the same lanes each time.
    bus.aw({.addr = 0x6008, .id = 3, .len = 1, .size = 3, .burst = 2});
    bus.w(false, 0xFF00);
    bus.w(true, bus.is("strobe of a wrapped burst that does not wrap") ? 0xFF00 : 0x00FF);
    bus.b(3);
    bus.aw({.addr = 0x6004, .id = 3, .len = 1, .size = 2, .burst = 0});
    bus.w(false, 0x00F0);
    bus.w(true, bus.is("strobe of a fixed burst that moves") ? 0x0F00 : 0x00F0);
    bus.b(3, bus.is("EXOKAY of an ordinary write") ? 1 : 0);

    const auto cache = [&](const char* fault) { return static_cast<std::uint8_t>(bus.is(fault) ? 4 : 15); };
    bus.aw({.addr = 0x6000, .id = 3, .cache = cache("reserved AWCACHE")});
    bus.w(true);
    bus.b(3);
    bus.ar({.addr = 0x6000, .id = 4, .cache = cache("reserved ARCACHE")});
    bus.r(4, true, bus.is("EXOKAY of an ordinary read") ? 1 : 0);

    const auto exclusive = [&](const char* kind) {
        Address address{.addr = 0x6040, .id = 4, .len = 3, .lock = true};
        const std::string name = std::string("exclusive ") + kind;
        if (bus.is((name + " that is not aligned").c_str())) address.addr = 0x6010;
        if (bus.is((name + " of 48 bytes").c_str())) address.len = 2;
        if (bus.is((name + " of 256 bytes").c_str())) address.addr = 0x6000, address.len = 15;
        if (bus.is((name + " of 32 beats").c_str())) address.size = 0, address.len = 31;
        return address;
    };
    bus.ar(exclusive("read"));
    for (unsigned i = 0; i < 4; ++i) bus.r(4, i == 3, 1);
    bus.aw(exclusive("write"));
    for (unsigned i = 0; i < 4; ++i) bus.w(i == 3);
    bus.b(4, 1);
}

// Frames that a link's buffer accepts, and an address whose data come only after it.
void frames_and_lone_addresses(Bus& bus) {
    auto& top = *bus.top;
    top.accept_i = 1;
    top.units_of_i = 5;
    top.kept_i = bus.is("a unit was dropped") ? 4 : 5;
    bus.cycle();
    top.accept_i = 0;
    const sim::Address one{.addr = 0x1000, .id = 5};
    one.pack(top.aw_i);
    top.aw_valid_i = 1;
    top.aw_ready_i = 0;
    for (unsigned i = 0; i < (bus.is("data after their address") ? 70U : 60U); ++i) bus.cycle();
    top.aw_ready_i = 1;
    bus.cycle();
    top.aw_valid_i = 0;
    bus.w(true);
    bus.b(5);
}

void traffic(Bus& bus) {
    auto& top = *bus.top;
    using sim::Address;
    const Address two{.addr = 0x1000, .id = 5, .len = 1};
    // Writes: one after the other, data before its address, and answers of two ids in another order.
    bus.aw(two);
    if (bus.is("answer before the data")) bus.b(5);
    bus.w(bus.is("WLAST too early"));
    if (!bus.is("WLAST too early")) bus.w(!bus.is("WLAST missing"));
    bus.b(bus.is("answer of another id") ? 6 : 5);
    if (bus.is("answer twice")) bus.b(5);
    bus.w(bus.is("data before an address of another length"));
    if (!bus.is("data before an address of another length")) bus.w(true);
    bus.aw(two);
    bus.aw({.addr = 0x2000, .id = 7, .len = 0});
    bus.w(true);
    bus.b(7);
    bus.b(5);
    // Reads: two ids whose beats alternate.
    bus.ar({.addr = 0x3000, .id = 1, .len = 1});
    bus.ar({.addr = 0x3000, .id = 2, .len = 0});
    bus.r(bus.is("data of another id") ? 9 : 1, bus.is("RLAST too early"));
    bus.r(2, !bus.is("RLAST missing"));
    bus.r(1, true);
    if (bus.is("data of nobody")) bus.r(1, true);
    attributes(bus);
    frames_and_lone_addresses(bus);
    // Shapes: whole page, wrapped, fixed.
    bus.ar({.addr = 0x4000, .id = 1, .len = 255});
    bus.ar({.addr = 0x4FF0, .id = 1, .len = static_cast<std::uint8_t>(bus.is("read over 4 KiB") ? 1 : 0)});
    bus.aw({.addr = 0x4F00, .id = 1, .len = static_cast<std::uint8_t>(bus.is("write over 4 KiB") ? 16 : 15)});
    bus.ar({.addr = 0x4FF0,
            .id = 1,
            .len = static_cast<std::uint8_t>(bus.is("wrapped read of 3") ? 2 : 3),
            .burst = 2});
    const std::uint64_t odd = bus.is("wrapped write that is not aligned") ? 0x4FF4 : 0x4FF0;
    bus.aw({.addr = odd, .id = 1, .len = 1, .burst = 2});
    bus.aw({.addr = 0x4FF1,
            .id = 1,
            .len = static_cast<std::uint8_t>(bus.is("fixed write of 17") ? 16 : 15),
            .burst = 0});
    bus.ar({.addr = 0x5000,
            .id = 1,
            .len = 0,
            .size = static_cast<std::uint8_t>(bus.is("beat wider than the bus") ? 5 : 4)});
    // Handshakes.
    two.pack(top.aw_i);
    waits(bus, "AW", top.aw_valid_i, top.aw_ready_i, [&] { sim::put(top.aw_i, 25, 16, 6); });
    two.pack(top.ar_i);
    waits(bus, "AR", top.ar_valid_i, top.ar_ready_i, [&] { sim::put(top.ar_i, 41, 40, 0x1010); });
    sim::put(top.w_i, 0, 1, 0);
    waits(bus, "W", top.w_valid_i, top.w_ready_i, [&] { sim::put(top.w_i, 1, 16, 0xFFFF); });
    sim::put(top.r_i, 0, 3, 0);
    sim::put(top.r_i, 3, 16, 1);
    waits(bus, "R", top.r_valid_i, top.r_ready_i, [&] { sim::put(top.r_i, 19, 32, 1); });
    for (unsigned i = 0; i < 15; ++i) bus.w(i == 14);
    top.b_i = 1U << 2;
    waits(bus, "B", top.b_valid_i, top.b_ready_i, [&] { top.b_i = (1U << 2) | 2U; });
    bus.cycle();
    streams(bus);
    credits(bus);
    top.ar_ready_i = 1;
    for (unsigned i = 0; bus.is("more than the checker can hold") && i < 512; ++i) bus.ar(two);
    bus.cycle();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    Bus bus(argv[1]);
    traffic(bus);
    std::puts("nothing found");
    return 0;
}
