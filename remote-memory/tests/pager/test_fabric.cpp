// SPDX-License-Identifier: Apache-2.0
//
// Segments through libfabric, and what a client of one cannot reach.
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "connection.hpp"
#include "dial.hpp"
#include "fabric.hpp"
#include "fabric_transport.hpp"
#include "remote_support.hpp"

namespace {

using namespace remote_test;

constexpr std::chrono::microseconds spin{100};
// Of a client that is not answered; libfabric polls all the while.
constexpr std::chrono::milliseconds short_patience{500};

// The provider's name; the test is skipped where this machine has none of it.
class Fabric : public Remote, public testing::WithParamInterface<const char*> {
  protected:
    void SetUp() override {
        Remote::SetUp();
        try {
            fabric::expect(GetParam());
        } catch (const std::exception& error) {
            GTEST_SKIP() << "libfabric: " << error.what();
        }
        only_server.start(offering(GetParam()), key);
    }
    static ServerOptions offering(const char* provider) {
        ServerOptions options;
        options.bytes = 64 * mib;
        options.fabrics = {provider};
        options.patience = endless;
        return options;
    }
    // A client that has the target of its own segment.
    [[nodiscard]] FabricTarget attached(Connection& connection) const {
        FabricTarget target{};
        EXPECT_EQ(attach_raw(connection, key), Outcome::good);
        EXPECT_EQ(reach_in_fabric(connection, GetParam(), target), Outcome::good);
        return target;
    }
    [[nodiscard]] std::unique_ptr<Connection> connected() const {
        return std::make_unique<Connection>(connect_to(only_server.address()), spin, endless);
    }
    // The same again, until the machine is not too busy for a short patience.
    template <typename Make>
    static auto in_time(Make make) {
        for (;;) {
            try {
                return make();
            } catch (const std::system_error& error) {
                if (error.code().value() != EPROTO) {
                    throw;
                }
            }
        }
    }
    [[nodiscard]] Attachment wanted() const {
        Attachment made{only_server.address(), key, 4 * mib, endless};
        made.fabric = GetParam();
        return made;
    }
};

TEST_P(Fabric, PagesGoAndComeBack) {
    const auto home = attach(wanted());
    std::vector<std::array<std::byte, page_bytes>> data(3);
    std::array<StoredPage, 3> pages{{{5, 0}, {6, 0}, {900, 0}}};
    std::array<const std::byte*, 3> sources{};
    for (std::size_t i = 0; i < data.size(); ++i) {
        data[i].fill(static_cast<std::byte>(i + 1));
        sources[i] = data[i].data();
    }
    ASSERT_EQ(home->store(pages.data(), sources.data(), 3), Outcome::good);
    Fetched found{};
    ASSERT_EQ(home->fetch({4, 64}, nullptr, found), Outcome::good);
    EXPECT_EQ(found.data[0], std::byte{0});  // never written
    EXPECT_EQ(page_crc(found.data + page_bytes), pages[0].crc);
    EXPECT_EQ(page_crc(found.data + 2 * page_bytes), pages[1].crc);
    ASSERT_EQ(home->fetch({900, 2, -894}, nullptr, found), Outcome::good);
    EXPECT_EQ(page_crc(found.data), pages[2].crc);
    EXPECT_EQ(page_crc(found.data + found.step), pages[1].crc);
}

// A killed process of the same number left it.
TEST_P(Fabric, MemoryOfANamesakeIsNotInTheWay) {
    const pid_t child = ::fork();
    if (child == 0) {
        for (const char* endpoint : {":0", ":1"}) {
            std::ofstream("/dev/shm/" + std::to_string(::getpid()) + ":" + std::to_string(::getuid()) +
                          endpoint)
                << "left";
        }
        try {
            ::_exit(attach(wanted()) != nullptr ? 0 : 2);
        } catch (const std::exception&) {
            ::_exit(1);
        }
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    for (const char* endpoint : {":0", ":1"}) {
        const std::string left = std::to_string(child) + ":" + std::to_string(::getuid()) + endpoint;
        ::unlink(("/dev/shm/" + left).c_str());
    }
}

TEST_P(Fabric, NothingBeyondTheSegmentIsReached) {
    const auto connection = connected();
    const FabricTarget target = attached(*connection);
    const fabric::Access::Options impatient{spin, short_patience, connection->socket()};
    for (const std::uint64_t offset : {mib, mib - page_bytes / 2, std::uint64_t{0} - page_bytes}) {
        for (const bool writes : {false, true}) {
            const auto access = in_time([&] { return std::make_unique<fabric::Access>(target, impatient); });
            std::fill_n(access->buffer(), page_bytes, std::byte{0x5a});
            const fabric::Piece piece{0, offset, page_bytes};
            access->begin(writes, &piece, 1);
            EXPECT_NE(access->end(), Outcome::good) << offset << (writes ? " written" : " read");
            EXPECT_EQ(std::count(access->buffer(), access->buffer() + page_bytes, std::byte{0x5a}),
                      static_cast<std::ptrdiff_t>(page_bytes));
        }
    }
    fabric::Access within(target, {spin, endless, connection->socket()});  // and the server serves on
    const fabric::Piece last{0, mib - page_bytes, page_bytes};
    within.begin(false, &last, 1);
    EXPECT_EQ(within.end(), Outcome::good);
}

TEST_P(Fabric, OneClientDoesNotReachAnothersSegment) {
    const auto one = connected();
    const auto other = connected();
    const FabricTarget own = attached(*one);
    const FabricTarget others = attached(*other);
    EXPECT_NE(own.key, others.key);
    const fabric::Access::Options options{spin, short_patience, one->socket()};
    FabricTarget mixed = own;  // its own endpoint with the other's key
    mixed.key = others.key;
    EXPECT_THROW(fabric::Access(mixed, options), std::system_error);
    mixed = others;  // the other's endpoint with its own key
    mixed.key = own.key;
    EXPECT_THROW(fabric::Access(mixed, options), std::system_error);
}

TEST_P(Fabric, ASegmentIsNotReachedAfterItsClientHasGone) {
    FabricTarget target{};
    {
        const auto connection = connected();
        target = attached(*connection);
    }
    const auto later = connected();
    static_cast<void>(attached(*later));
    const fabric::Access::Options options{spin, short_patience, later->socket()};
    bool reached = true;
    for (int tries = 0; reached && tries < 200; ++tries) {
        try {
            const fabric::Access access(target, options);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        } catch (const std::system_error&) {
            reached = false;
        }
    }
    EXPECT_FALSE(reached);
}

TEST_P(Fabric, AServerThatIsKilledIsLost) {
    const auto home = attach(wanted());
    Fetched found{};
    ASSERT_EQ(home->fetch({0, 1}, nullptr, found), Outcome::good);
    stop();
    EXPECT_EQ(home->fetch({1, 1}, nullptr, found), Outcome::closed);
    std::array<std::byte, page_bytes> data{};
    const std::byte* source = data.data();
    StoredPage page{3, 0};
    EXPECT_EQ(home->store(&page, &source, 1), Outcome::closed);
}

TEST_P(Fabric, AServerThatStopsIsLostAfterThePatience) {
    Attachment impatient = wanted();
    // Each attempt to attach takes memory of the server.
    impatient.patience = std::chrono::seconds(3);
    const auto home = in_time([&] { return attach(impatient); });
    ::kill(only_server.process, SIGSTOP);
    ASSERT_EQ(::waitpid(only_server.process, nullptr, WUNTRACED), only_server.process);
    Fetched found{};
    EXPECT_NE(home->fetch({0, 1}, nullptr, found), Outcome::good);
    ::kill(only_server.process, SIGCONT);
    EXPECT_NE(home->fetch({0, 1}, nullptr, found), Outcome::good);  // what comes late is not taken
}

TEST_P(Fabric, WhatDoesNotGoTogetherIsRefused) {
    const auto words = [&](auto change) -> std::string {
        Attachment made = wanted();
        change(made);
        try {
            attach(made);
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_NE(words([](Attachment& made) { made.encrypt = true; }).find("as they are"), std::string::npos);
    EXPECT_NE(words([](Attachment& made) { made.reconnect = std::chrono::seconds(1); }).find("reconnect"),
              std::string::npos);
    EXPECT_NE(words([](Attachment& made) { made.server = "/tmp/socket"; }).find("shares"), std::string::npos);
    const std::string unknown = words([](Attachment& made) { made.fabric = "pigeons"; });
    EXPECT_NE(unknown.find("there are: "), std::string::npos);
    EXPECT_NE(unknown.find(GetParam()), std::string::npos);
}

TEST_P(Fabric, AServerWithoutItRefuses) {
    ServerProcess without;
    ServerOptions options;
    options.bytes = 64 * mib;
    without.start(options, key);
    Attachment made = wanted();
    made.server = without.address();
    try {
        attach(made);
        FAIL();
    } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find("offers no fabric"), std::string::npos);
    }
    options.fabrics = {GetParam()};
    options.must_encrypt = true;
    EXPECT_THROW(Server{options}, std::invalid_argument);
}

TEST_P(Fabric, ASegmentPagesThroughIt) {
    SegmentOptions options = Remote::options(only_server.address(), 16 * mib);
    options.fabric = GetParam();
    std::string why;
    if (!can_page(options.faults, why)) {
        GTEST_SKIP() << "userfaultfd: " << why;
    }
    const Segment segment(options);
    auto* words = static_cast<std::uint64_t*>(segment.data());
    const std::size_t count = options.bytes / sizeof *words;
    for (std::size_t i = 0; i < count; i += 64) {
        words[i] = i * 2654435761U;
    }
    for (std::size_t i = 0; i < count; i += 64) {
        ASSERT_EQ(words[i], i * 2654435761U);
    }
    EXPECT_GT(segment.counters().stored, 0U);
    EXPECT_GT(segment.counters().fetched, 0U);
}

INSTANTIATE_TEST_SUITE_P(Providers, Fabric, testing::Values("tcp", "shm"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
