// SPDX-License-Identifier: Apache-2.0
//
// Several servers: nothing that was acknowledged is lost with one of them, and none that lacks something is
// read.
#include <cstring>
#include <random>

#include "remote_support.hpp"

namespace {

using namespace remote_test;

class Several : public Remote {
  protected:
    void SetUp() override {
        Remote::SetUp();
        std::string why;
        if (!can_page(Faults::in_thread, why)) {
            GTEST_SKIP() << why;
        }
        for (ServerProcess& each : servers) {
            each.start(offered(), key);
        }
        later.start(offered(), key, true);
    }
    static ServerOptions offered() {
        ServerOptions made;
        made.bytes = 64 * mib;
        return made;
    }
    [[nodiscard]] SegmentOptions replicated(std::size_t bytes = 4 * mib) const {
        SegmentOptions made = options(servers[0].address(), bytes);
        made.more_servers = {servers[1].address()};
        made.replicas = 2;
        return made;
    }
    // Random reads and writes against an array, of which `between` interrupts one at a time.
    static void expect_array(const Segment& segment, unsigned seed, int accesses,
                             const std::function<void(int)>& between) {
        const std::size_t count = segment.bytes() / sizeof(std::uint32_t);
        auto* remote = static_cast<std::uint32_t*>(segment.data());
        std::vector<std::uint32_t> array(count, 0);
        std::mt19937 random(seed);
        for (int i = 0; i < accesses; ++i) {
            between(i);
            const std::size_t at = random() % count;
            if (random() % 2 == 0) {
                array[at] = remote[at] = random();
            } else {
                ASSERT_EQ(remote[at], array[at]) << i;
            }
        }
        ASSERT_TRUE(std::equal(array.begin(), array.end(), remote));
    }
    static void fill(const Segment& segment) { std::memset(segment.data(), 'x', segment.bytes()); }
    static bool is_filled(const Segment& segment) {
        const auto* bytes = static_cast<const char*>(segment.data());
        return std::all_of(bytes, bytes + segment.bytes(), [](char c) { return c == 'x'; });
    }

    std::array<ServerProcess, 4> servers;
    ServerProcess later;
};

// One of the two is killed between any two steps of either side: a thread kills it while the program runs.
class OneDies : public Several, public testing::WithParamInterface<int> {};
TEST_P(OneDies, NothingIsLost) {
    const Segment segment(replicated());
    const pid_t victim = servers[static_cast<std::size_t>(GetParam() % 2)].process;
    std::thread killer;
    std::mt19937 random(static_cast<unsigned>(GetParam()));
    const int moment = 500 + static_cast<int>(random() % 2500);
    const auto delay = std::chrono::microseconds(random() % 3000);
    expect_array(segment, random(), 4000, [&](int i) {
        if (i == moment) {
            killer = std::thread([=] {
                std::this_thread::sleep_for(delay);
                ::kill(victim, SIGKILL);
            });
        }
    });
    killer.join();
    EXPECT_FALSE(segment.lost());
    EXPECT_GT(segment.counters().evicted, 0U);
    fill(segment);
    EXPECT_TRUE(is_filled(segment));
    EXPECT_EQ(segment.counters().replicas_lost, 1U);
}
INSTANTIATE_TEST_SUITE_P(Moments, OneDies, testing::Range(0, 8));

TEST_F(Several, BothDie) {
    EXPECT_EXIT(
        {
            const Segment segment(replicated());
            fill(segment);
            ::kill(servers[0].process, SIGKILL);
            static_cast<void>(*static_cast<const volatile char*>(segment.data()));
            ::kill(servers[1].process, SIGKILL);
            ::_exit(is_filled(segment) ? 8 : 9);
        },
        testing::KilledBySignal(SIGBUS), "server .* is lost: .*; SIGBUS at 0x");
}

// One that stands still is given up; when it goes on it lacks what was written meanwhile, and is not read.
TEST_F(Several, OneLagsBehind) {
    SegmentOptions wanted = replicated();
    wanted.patience = std::chrono::seconds(3);
    const Segment segment(wanted);
    fill(segment);
    ::kill(servers[0].process, SIGSTOP);
    std::memset(segment.data(), 'y', segment.bytes());
    EXPECT_EQ(segment.counters().replicas_lost, 1U);
    ::kill(servers[0].process, SIGCONT);
    const auto* bytes = static_cast<const char*>(segment.data());
    for (int pass = 0; pass < 2; ++pass) {
        EXPECT_TRUE(std::all_of(bytes, bytes + segment.bytes(), [](char c) { return c == 'y'; }));
    }
    EXPECT_EQ(segment.counters().corrected, 0U);
}

// A server that began anew at the same address knows nothing: what it has is not read as zeros.
TEST_F(Several, OneBeginsAnewEmpty) {
    SegmentOptions wanted = replicated();
    wanted.reconnect = std::chrono::seconds(60);
    const Segment segment(wanted);
    fill(segment);
    const std::uint16_t port_before = servers[0].port;
    servers[0].stop();
    later.go(port_before);
    EXPECT_TRUE(is_filled(segment));
    fill(segment);
    EXPECT_TRUE(is_filled(segment));
    EXPECT_EQ(segment.counters().replicas_lost, 1U);
}

// A page from one server is spoilt, by its memory or on its way: the other's is taken, and goes to both
// again.
TEST_F(Several, OneHasAPageWrong) {
    std::atomic<int> armed{0};
    const Link link(servers[0].address(), [&](std::uint64_t, char* bytes, std::size_t& length) {
        if (armed > 0 && length > page_bytes) {
            --armed;
            bytes[length - 1] ^= 4;
        }
        return true;
    });
    SegmentOptions wanted = replicated();
    wanted.server = link.address();
    wanted.prefetch = 1;
    const Segment segment(wanted);
    fill(segment);
    armed = 20;
    EXPECT_TRUE(is_filled(segment));
    EXPECT_EQ(segment.counters().corrected, 20U);
    EXPECT_EQ(segment.counters().replicas_lost, 0U);
}

TEST_F(Several, PiecesOnTwoServers) {
    SegmentOptions wanted = options(servers[0].address(), 7 * mib);
    wanted.more_servers = {servers[1].address()};
    const Segment segment(wanted);
    expect_array(segment, 3, 4000, [](int) {});
    fill(segment);
    EXPECT_TRUE(is_filled(segment));
}

TEST_F(Several, PiecesOnTwoPairsOfWhichOneEachDies) {
    SegmentOptions wanted = replicated(7 * mib);
    wanted.more_servers.push_back(servers[2].address());
    wanted.more_servers.push_back(servers[3].address());
    const Segment segment(wanted);
    expect_array(segment, 5, 4000, [&](int i) {
        if (i == 1500) {
            ::kill(servers[0].process, SIGKILL);
        } else if (i == 2500) {
            ::kill(servers[3].process, SIGKILL);
        }
    });
    fill(segment);
    EXPECT_TRUE(is_filled(segment));
    EXPECT_EQ(segment.counters().replicas_lost, 2U);
}

TEST_F(Several, ListsOfServersThatCannotBeServed) {
    const auto expect_refused = [](const SegmentOptions& wanted, const char* words) {
        try {
            const Segment segment(wanted);
            ADD_FAILURE() << "not refused";
        } catch (const std::invalid_argument& error) {
            EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
        }
    };
    SegmentOptions wanted = replicated();
    wanted.more_servers.push_back(servers[2].address());
    expect_refused(wanted, "multiple of the replicas");
    wanted = replicated();
    wanted.more_servers = {wanted.server};
    expect_refused(wanted, "named twice");
    wanted = replicated();
    wanted.pages = Pages::mapped;
    expect_refused(wanted, "server on this machine");
}

}  // namespace
