// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "consort/accel/arbiter.hpp"

namespace {

using namespace consort::accel;
using consort::Ticks;

TEST(Arbiter, FixedPriorityBeginsAtOnce) {
    const Account account(Share{});
    EXPECT_EQ(account.may_begin(Arbitration::fixed_priority, 0, 7, 1000), 7U);
}

TEST(Arbiter, TdmaBeginsOnlyWhatFitsTheSlot) {
    // A slot of 10 from 20 on, in a round of 50.
    const Account account(Share{0, 20, 10, 0, 0});
    const auto at = [&](Ticks now, Ticks cost) {
        return account.may_begin(Arbitration::tdma, 50, now, cost);
    };
    EXPECT_EQ(at(0, 4), 20U);
    EXPECT_EQ(at(20, 10), 20U);
    EXPECT_EQ(at(21, 10), 70U);
    EXPECT_EQ(at(26, 4), 26U);
    EXPECT_EQ(at(27, 4), 70U);
    EXPECT_EQ(at(49, 1), 70U);
    EXPECT_EQ(at(0, 11), never);
}

TEST(Arbiter, ABudgetIsFullAtEachMultipleOfItsPeriod) {
    constexpr Arbitration rule = Arbitration::budget;
    Account account(Share{0, 0, 0, 10, 100});
    EXPECT_EQ(account.may_begin(rule, 0, 5, 11), never);
    account.begin(rule, 5, 6);
    EXPECT_EQ(account.may_begin(rule, 0, 5, 4), 5U);
    EXPECT_EQ(account.may_begin(rule, 0, 5, 5), 100U);
    account.begin(rule, 99, 4);
    EXPECT_EQ(account.may_begin(rule, 0, 99, 1), 100U);
    EXPECT_EQ(account.may_begin(rule, 0, 100, 10), 100U);
    account.begin(rule, 250, 10);
    EXPECT_EQ(account.may_begin(rule, 0, 299, 1), 300U);
}

TEST(Arbiter, TheMostUrgentOfThoseThatMayBeginIsChosen) {
    std::vector<Account> accounts{Account(Share{2, 0, 0, 5, 100}), Account(Share{0, 0, 0, 5, 100}),
                                  Account(Share{1, 0, 0, 5, 100})};
    std::vector<Ticks> costs{5, 5, 0};
    const auto chosen = [&](Arbitration rule, Ticks now) {
        return choose(
            rule, 0, 3, now, [&](std::uint32_t i) -> const Account& { return accounts[i]; },
            [&](std::uint32_t i) { return costs[i]; });
    };
    EXPECT_EQ(chosen(Arbitration::fixed_priority, 0).client, 1U);
    EXPECT_EQ(chosen(Arbitration::budget, 0).client, 1U);
    accounts[1].begin(Arbitration::budget, 0, 5);
    EXPECT_EQ(chosen(Arbitration::budget, 0).client, 0U);
    accounts[0].begin(Arbitration::budget, 0, 5);
    EXPECT_EQ(chosen(Arbitration::budget, 0).client, nobody);
    EXPECT_EQ(chosen(Arbitration::budget, 0).look_again, 100U);
    costs.assign(3, 0);
    EXPECT_EQ(chosen(Arbitration::fixed_priority, 0).client, nobody);
    EXPECT_EQ(chosen(Arbitration::fixed_priority, 0).look_again, never);
}

}  // namespace
