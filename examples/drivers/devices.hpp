// SPDX-License-Identifier: Apache-2.0
//
// The devices of the descriptions here. A driver has no arguments: a class of its own says which port, line
// or interface, here each by an environment variable.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "can.hpp"
#include "data.hpp"
#include "serial.hpp"
#include "udp.hpp"

namespace drivers {

inline const char* given(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : otherwise;
}

// The operator's panel, on another program or machine.
struct Panel : Udp<Wish, Report> {
    Panel() : Udp(static_cast<std::uint16_t>(std::atoi(given("DRIVERS_UDP_PORT", "47700")))) {}
};
// An amplifier on a serial line: it measures the angle and is given the torque.
struct Amplifier : Serial<Angle, Torque> {
    Amplifier() : Serial(given("DRIVERS_SERIAL", "/dev/ttyUSB0")) {}
};
// The same amplifier on a CAN bus.
struct AmplifierOnCan : Can<Angle, Torque> {
    AmplifierOnCan() : Can(given("DRIVERS_CAN", "can0"), 0x181, 0x201) {}
};

}  // namespace drivers
