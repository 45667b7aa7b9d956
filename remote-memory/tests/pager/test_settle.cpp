// SPDX-License-Identifier: Apache-2.0
//
// A segment whose pages come home and stay, against its evicting thread and the program's threads: each test
// holds one of them at a step until another is as far as it can get.
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <tuple>

#include "pager.hpp"
#include "remote_support.hpp"

namespace of_settle {

using namespace remote_test;

enum class Way { shared, tcp, mapped };

// A thread's action at a step, once.
std::array<std::atomic<void (*)()>, 5> planted{};

void plant(Step step, void (*act)()) {
    planted[static_cast<std::size_t>(step)] = act;
}
void at_step(Step step) noexcept {
    if (auto* act = planted[static_cast<std::size_t>(step)].exchange(nullptr); act != nullptr) {
        act();
    }
}

std::atomic<bool> evicts{false};
std::atomic<bool> fills{false};
std::atomic<bool> left{false};
std::atomic<bool> settled{false};
std::atomic<Pager*> pager{nullptr};
std::atomic<bool> goes_on{false};

void until(const std::atomic<bool>& flag) {
    while (!flag) {
        std::this_thread::yield();
    }
}
// For what must not happen: there is no event to wait for, and any time is enough to be right.
void a_while() {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
}

class Settles : public Remote, public testing::WithParamInterface<std::tuple<Faults, Way>> {
  protected:
    static constexpr std::size_t size = 4 * mib;

    void SetUp() override {
        Remote::SetUp();
        std::string why;
        if (!can_page(std::get<0>(GetParam()), why)) {
            GTEST_SKIP() << why;
        }
        start();
        for (std::atomic<bool>* flag : {&evicts, &fills, &left, &settled, &goes_on}) {
            *flag = false;
        }
        Attachment wanted{way() == Way::tcp ? tcp() : path, key, size};
        PagerOptions options;
        options.bytes = size;
        options.cache_bytes = mib;
        options.faults = std::get<0>(GetParam());
        options.pages = way() == Way::mapped ? Pages::mapped : Pages::copied;
        options.at_step = at_step;
        made_ = std::make_unique<Pager>(options, attach(wanted), "under test");
        fault_signal::add(made_.get(), options.faults == Faults::in_thread);
        pager = made_.get();
        bytes = reinterpret_cast<unsigned char*>(made_->base());
    }
    void TearDown() override {
        if (made_ != nullptr) {
            fault_signal::remove(made_.get());
            made_.reset();
            if (settled) {
                ::munmap(bytes, size);
            }
        }
        Remote::TearDown();
    }
    static Way way() { return std::get<1>(GetParam()); }
    static unsigned char content(std::size_t at) {
        return static_cast<unsigned char>(at / page_bytes % 251 + 1);
    }
    void fill() const {
        for (std::size_t at = 0; at < size; at += page_bytes) {
            bytes[at] = content(at);
        }
    }
    void settle() const {
        ASSERT_TRUE(made_->settle({{0, size}}));
        settled = true;
    }
    void expect_all(std::size_t from = 0) const {
        std::size_t wrong = 0;
        for (std::size_t at = from; at < size; at += page_bytes) {
            wrong += bytes[at] == content(at) ? 0 : 1;
        }
        EXPECT_EQ(wrong, 0U) << "pages of " << size / page_bytes;
    }

    unsigned char* bytes = nullptr;

  private:
    std::unique_ptr<Pager> made_;
};

// The evicting thread has found that it may evict, and does so once settle has had time to sweep past. The
// pages are clean: what is dropped of them is gone, also once the range has been left.
TEST_P(Settles, WaitsForPagesThatAreAboutToBeEvicted) {
    fill();
    expect_all();
    plant(Step::evicts, [] {
        evicts = true;
        while (!goes_on) {
            std::this_thread::yield();
        }
        a_while();
    });
    std::thread reader([&] { expect_all(); });
    until(evicts);
    std::thread home([&] { settle(); });
    goes_on = true;
    reader.join();
    home.join();
    only_server.stop();
    expect_all();
}

// A thread discards a swept page, and brings it again while the range is left.
TEST_P(Settles, AThreadBringsAPageWhileTheRangeIsLeft) {
    fill();
    plant(Step::swept, [] {
        pager.load()->discard(0, page_bytes);
        plant(Step::fills, [] {
            fills = true;
            until(left);
        });
        plant(Step::left, [] { left = true; });
        goes_on = true;
        until(fills);
    });
    std::thread user([&] {
        until(goes_on);
        bytes[1] = 7;
    });
    settle();
    user.join();
    EXPECT_EQ(bytes[0], 0);
    EXPECT_EQ(bytes[1], 7);
    expect_all(page_bytes);
}

// A thread is about to discard a page: settle waits for it. Or begins after the range was left.
TEST_P(Settles, AThreadDiscardsWhileTheRangeIsLeft) {
    fill();
    std::thread early;
    plant(Step::discards, [] {
        goes_on = true;
        a_while();
    });
    early = std::thread([&] { pager.load()->discard(0, page_bytes); });
    until(goes_on);
    plant(Step::left, [] { pager.load()->discard(page_bytes, page_bytes); });
    settle();
    early.join();
    pager.load()->discard(2 * page_bytes, page_bytes);
    for (std::size_t page = 0; page < 3; ++page) {
        EXPECT_EQ(bytes[page * page_bytes], 0) << page;
    }
    expect_all(3 * page_bytes);
}

// Threads write, and discard, all the time.
TEST_P(Settles, UnderThreadsThatWriteAndDiscard) {
    constexpr std::size_t own = size / 4;
    fill();
    std::vector<std::thread> users;
    for (std::size_t user = 0; user < 3; ++user) {
        users.emplace_back([&, user] {
            unsigned char* mine = bytes + user * own;
            for (unsigned turn = 1; !settled || turn % 4 != 0; ++turn) {
                for (std::size_t at = 0; at < own; at += page_bytes) {
                    mine[at + 2] = static_cast<unsigned char>(turn);
                }
                for (std::size_t at = 0; at < own; at += page_bytes) {
                    ASSERT_EQ(mine[at + 2], static_cast<unsigned char>(turn)) << at;
                }
                pager.load()->discard(user * own, own / 2);
            }
        });
    }
    settle();
    for (std::thread& each : users) {
        each.join();
    }
    expect_all(3 * own);
}

std::string name_of(const testing::TestParamInfo<std::tuple<Faults, Way>>& info) {
    const Way way = std::get<1>(info.param);
    return std::string(std::get<0>(info.param) == Faults::in_thread ? "InThread" : "Handler") +
           (way == Way::tcp      ? "Tcp"
            : way == Way::mapped ? "Mapped"
                                 : "Shared");
}

INSTANTIATE_TEST_SUITE_P(All, Settles,
                         testing::Combine(testing::Values(Faults::in_thread, Faults::handler),
                                          testing::Values(Way::shared, Way::tcp, Way::mapped)),
                         name_of);

}  // namespace of_settle
