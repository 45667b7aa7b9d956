// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "consort/linux/executive/fail_over.hpp"

using namespace consort::linux_port;
using consort::Ticks;

namespace {

constexpr Ticks interval = 20;
constexpr Ticks slow = 2 * interval;

// The looks of a supervisor from one instant to another, at a core with that sign of life.
void looks(Vigil& vigil, Ticks sign, Ticks from, Ticks until) {
    for (Ticks now = from; now < until; now += interval) {
        vigil.look(sign, now + interval, now, slow);
    }
}

}  // namespace

TEST(Vigil, CountsTheSilenceOfACore) {
    Vigil vigil;
    looks(vigil, 1'000, 980, 1'200);
    EXPECT_EQ(vigil.silence(), 200U);
    EXPECT_FALSE(vigil.late());
    vigil.look(1'215, 1'220, 1'200, slow);
    EXPECT_EQ(vigil.silence(), 5U);
}

// A machine that stands still for 2 s, supervisor and cores alike: the core has still to be silent.
TEST(Vigil, TakesNoStandstillOfTheMachineForADeath) {
    Vigil vigil;
    looks(vigil, 1'000, 980, 1'100);
    vigil.look(1'000, 3'100, 1'100, slow);
    vigil.look(1'000, 3'119, 3'100, slow);
    EXPECT_EQ(vigil.silence(), 100U + slow + 19U);
    EXPECT_TRUE(vigil.late());
    vigil.look(3'125, 3'139, 3'119, slow);
    EXPECT_EQ(vigil.silence(), 14U);
    EXPECT_FALSE(vigil.late());
}

// Looks that all come late delay a death, and no more.
TEST(Vigil, SeesADeathThroughLateLooks) {
    Vigil vigil;
    for (Ticks now = 1'000; now < 2'000; now += 100) {
        vigil.look(1'000, now + 100, now, slow);
    }
    EXPECT_EQ(vigil.silence(), 10 * slow);
    EXPECT_TRUE(vigil.late());
}
