// SPDX-License-Identifier: Apache-2.0
//
// All states that two tokens and the messages between them can reach: never a writer beside anybody, no
// message that the other side cannot expect, nobody stuck, and one use of the other side at most before a
// question is answered. Rules that are taken out are found.

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "consort/dsm/token.hpp"

namespace {

using consort::dsm::Right;
using consort::dsm::Token;

// A rule that is left out.
enum class Mutant { none, both_first, nobody_first, keeps_write };

struct Said {
    bool question;
    Right right;
    auto operator<=>(const Said&) const = default;
};

struct World {
    std::array<Token, 2> tokens{Token{true, Right::write}, Token{false, Right::none}};
    std::array<std::vector<Said>, 2> to{};  // messages on their way to each side, in order
    // Nothing was to be heard when the side looked last, since it began or ended a use. What comes after the
    // look is not heard before the next one.
    std::array<bool, 2> looked{};
    std::array<int, 2> uses_seen{};  // uses of the other side since this side's open question

    // Everything that tells two worlds apart.
    [[nodiscard]] std::string key() const {
        std::string text;
        for (int side = 0; side < 2; ++side) {
            const Token& t = tokens[side];
            for (const Right right : {t.right(), t.use(), t.asked(), t.wanted(), t.waits_for()}) {
                text += static_cast<char>('0' + static_cast<int>(right));
            }
            text += t.fresh() ? 'f' : '-';
            text += looked[side] ? 'l' : '-';
            text += static_cast<char>('0' + uses_seen[side]);
            for (const Said& said : to[side]) {
                text += said.question ? 'q' : 'g';
                text += static_cast<char>('0' + static_cast<int>(said.right));
            }
            text += ';';
        }
        return text;
    }
};

struct Found {
    std::size_t states = 0;
    std::set<std::string> wrong;
};

class Explorer {
  public:
    explicit Explorer(Mutant mutant) : mutant_(mutant) {
        if (mutant == Mutant::both_first || mutant == Mutant::nobody_first) {
            const bool preferred = mutant == Mutant::both_first;
            begin_.tokens = {Token{preferred, Right::write}, Token{preferred, Right::none}};
        }
    }

    Found run() {
        add(begin_, "");
        while (!open_.empty()) {
            const World world = open_.front();
            open_.pop_front();
            const std::string key = world.key();
            check(world);
            for (int side = 0; side < 2; ++side) {
                expand(world, side, key);
            }
        }
        found_.states = seen_.size();
        find_stuck();
        return found_;
    }

  private:
    void add(const World& world, const std::string& from) {
        const std::string key = world.key();
        if (!from.empty()) {
            before_[key].insert(from);
        }
        if (seen_.insert({key, false}).second) {
            open_.push_back(world);
        }
        seen_[key] = idle(world);
    }
    // Nobody waits for anything.
    static bool idle(const World& w) {
        return w.to[0].empty() && w.to[1].empty() && w.tokens[0].asked() == Right::none &&
               w.tokens[1].asked() == Right::none && w.tokens[0].waits_for() == Right::none &&
               w.tokens[1].waits_for() == Right::none;
    }

    void wrong(const std::string& what) { found_.wrong.insert(what); }

    void check(const World& w) {
        const auto& [a, b] = w.tokens;
        if ((a.use() == Right::write && b.use() != Right::none) ||
            (b.use() == Right::write && a.use() != Right::none)) {
            wrong("a writer beside another");
        }
        if ((a.right() == Right::write && b.right() != Right::none) ||
            (b.right() == Right::write && a.right() != Right::none)) {
            wrong("a right to write beside another");
        }
        for (int side = 0; side < 2; ++side) {
            if (w.uses_seen[side] > 1) {
                wrong("more than one use before an answer");
            }
            if (w.to[side].size() > 2) {
                wrong("more messages than there are words for");
            }
        }
    }

    // Hears all that is there; false: something that cannot be.
    bool hear_one(World& w, int side) {
        Token& token = w.tokens[side];
        const Said said = w.to[side].front();
        w.to[side].erase(w.to[side].begin());
        if (said.question ? !token.hear_ask(said.right) : !token.hear_grant(said.right)) {
            wrong("a message that the protocol does not have");
            return false;
        }
        return true;
    }

    void expand(const World& w, int side, const std::string& key) {
        const int other = 1 - side;
        const Token& token = w.tokens[side];
        if (!w.to[side].empty()) {
            World next = w;
            if (hear_one(next, side)) {
                if (next.tokens[side].asked() == Right::none) {
                    next.uses_seen[side] = 0;
                }
                add(next, key);
            }
        }
        if (w.to[side].empty() && !w.looked[side]) {
            World next = w;
            next.looked[side] = true;
            add(next, key);
        }
        if (token.waits_for() == Right::none && token.use() == Right::none) {
            for (const Right use : {Right::read, Right::write}) {
                World next = w;
                next.tokens[side].want(use);
                add(next, key);
            }
        }
        if (token.waits_for() != Right::none) {
            World next = w;
            next.tokens[side].give_up();
            add(next, key);
            // All that was said is heard before a use begins, as Side::serve does.
            if (w.looked[side]) {
                next = w;
                next.looked[side] = false;
                Token& own = next.tokens[side];
                if (own.try_begin()) {
                    // A reader lets a reader in.
                    const bool holds_up =
                        w.tokens[side].wanted() == Right::write ||
                        (w.tokens[side].wanted() == Right::read && own.use() == Right::write);
                    next.uses_seen[other] += holds_up ? 1 : 0;
                    add(next, key);
                }
                next = w;
                if (next.tokens[side].ask()) {
                    next.to[other].push_back({true, next.tokens[side].asked()});
                    next.uses_seen[side] = next.tokens[other].use() != Right::none ? 1 : 0;
                    add(next, key);
                }
            }
        }
        if (token.use() != Right::none) {
            World next = w;
            next.tokens[side].end();
            next.looked[side] = false;
            add(next, key);
        }
        if (token.may_grant()) {
            World next = w;
            const Right granted = next.tokens[side].grant();
            next.to[other].push_back({false, granted});
            if (mutant_ == Mutant::keeps_write && granted == Right::write) {
                next.tokens[side].take_over();
            }
            add(next, key);
        }
    }

    // From every state one in which nobody waits can be reached.
    void find_stuck() {
        std::set<std::string> good;
        std::deque<std::string> open;
        for (const auto& [key, is_idle] : seen_) {
            if (is_idle) {
                good.insert(key);
                open.push_back(key);
            }
        }
        while (!open.empty()) {
            const std::string key = open.front();
            open.pop_front();
            for (const std::string& before : before_[key]) {
                if (good.insert(before).second) {
                    open.push_back(before);
                }
            }
        }
        if (good.size() != seen_.size()) {
            wrong("somebody waits for ever");
        }
    }

    Mutant mutant_;
    World begin_;
    Found found_;
    std::map<std::string, bool> seen_;
    std::map<std::string, std::set<std::string>> before_;
    std::deque<World> open_;
};

TEST(Token, KeepsItsPromisesInEveryState) {
    const Found found = Explorer(Mutant::none).run();
    EXPECT_TRUE(found.wrong.empty()) << *found.wrong.begin();
    EXPECT_GT(found.states, 300U);
    ::testing::Test::RecordProperty("states", static_cast<int>(found.states));
}

TEST(Token, ARuleLeftOutIsFound) {
    for (const Mutant mutant : {Mutant::both_first, Mutant::nobody_first, Mutant::keeps_write}) {
        EXPECT_FALSE(Explorer(mutant).run().wrong.empty()) << "mutant " << static_cast<int>(mutant);
    }
}

TEST(Token, WhatCannotBeSaidIsNotHeard) {
    Token token{true, Right::write};
    EXPECT_FALSE(token.hear_grant(Right::read)) << "nothing was asked";
    EXPECT_FALSE(token.hear_ask(Right::none));
    EXPECT_TRUE(token.hear_ask(Right::write));
    EXPECT_FALSE(token.hear_ask(Right::read)) << "one question at a time";
    EXPECT_EQ(token.grant(), Right::write);
    EXPECT_FALSE(token.hear_ask(Right::read)) << "there is nothing to grant here";
}

}  // namespace
