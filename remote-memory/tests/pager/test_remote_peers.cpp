// SPDX-License-Identifier: Apache-2.0
//
// Peers that keep to no rule, and memory that does not keep what it holds.
#include <arpa/inet.h>

#include <cstring>
#include <random>

#include "remote_support.hpp"

namespace {

using namespace remote_test;

class Peers : public Remote {
  protected:
    void SetUp() override {
        Remote::SetUp();
        std::string why;
        if (!can_page(Faults::in_thread, why)) {
            GTEST_SKIP() << why;
        }
        start(64 * mib, endless);
    }
    static void fill(const Segment& segment) { std::memset(segment.data(), 'x', segment.bytes()); }
    static bool is_filled(const Segment& segment) {
        const auto* bytes = static_cast<const char*>(segment.data());
        return std::all_of(bytes, bytes + segment.bytes(), [](char c) { return c == 'x'; });
    }
    // The server's threads. A thread that has closed its connection ends a moment later.
    [[nodiscard]] std::size_t settled_threads() const {
        std::size_t threads = 0;
        for (int tries = 0; tries == 0 || (threads >= 100 && tries < 2000); ++tries) {
            std::this_thread::sleep_for(std::chrono::milliseconds(tries == 0 ? 0 : 5));
            threads = static_cast<std::size_t>(std::distance(
                std::filesystem::directory_iterator("/proc/" + std::to_string(server) + "/task"), {}));
        }
        return threads;
    }
};

// The memory of a server on this machine, reached as nobody should.
TEST_F(Peers, AFlippedBitInTheServersMemoryIsFound) {
    EXPECT_EXIT(
        {
            const Segment segment(options(path));
            fill(segment);
            int flipped = 0;
            for (const auto& each :
                 std::filesystem::directory_iterator("/proc/" + std::to_string(server) + "/fd")) {
                std::error_code gone;
                const std::string target = std::filesystem::read_symlink(each.path(), gone);
                if (target.find("consort-segment") != std::string::npos) {
                    const int file = ::open(each.path().c_str(), O_RDWR | O_CLOEXEC);
                    const char other = 'x' ^ 8;
                    flipped += ::pwrite(file, &other, 1, 1000) == 1 ? 1 : 0;
                    ::close(file);
                }
            }
            if (flipped != 1) {
                ::_exit(9);
            }
            static_cast<void>(*static_cast<const volatile char*>(segment.data()));
            ::_exit(8);
        },
        testing::KilledBySignal(SIGBUS), "other content than was stored .CRC.; SIGBUS at 0x");
}

// One byte of what the server sends is another, anywhere: the program reads what it wrote, or ends with
// SIGBUS.
TEST_F(Peers, AnyOtherByteIsFoundOrDoesNoHarm) {
    std::mt19937 random(3);
    for (int turn = 0; turn < 12; ++turn) {
        // The first messages are of the attach: those are refused, or end in an exception.
        const std::uint64_t at = 400 + random() % (turn % 2 == 0 ? 2000U : 2'000'000U);
        const auto by = static_cast<char>(1 + random() % 255);
        EXPECT_EXIT(
            {
                const Link link(tcp(), [&](std::uint64_t before, char* bytes, std::size_t& length) {
                    if (at >= before && at < before + length) {
                        bytes[at - before] ^= by;
                    }
                    return true;
                });
                const Segment segment(options(link.address(), 4 * mib));
                fill(segment);
                if (!is_filled(segment)) {
                    ::_exit(9);
                }
                ::raise(SIGKILL);  // right
            },
            [](int status) {
                return WIFSIGNALED(status) && (WTERMSIG(status) == SIGBUS || WTERMSIG(status) == SIGKILL);
            },
            "")
            << "byte " << at << " by " << static_cast<int>(by);
    }
}

// Strangers hold no more of a server than a few threads, and no client loses its memory by them.
TEST_F(Peers, StrangersByTheHundredDoNoHarm) {
    const Segment segment(options(tcp()));
    fill(segment);
    std::mt19937 random(5);
    std::vector<int> strangers;
    for (int i = 0; i < 200; ++i) {
        const int stranger = connect_to(tcp());
        std::array<std::uint32_t, 64> words{};
        for (std::uint32_t& each : words) {
            each = static_cast<std::uint32_t>(random());
        }
        if (i % 3 != 0) {
            words[0] = i % 3 == 1 ? words[0] : protocol_magic;
            ::send(stranger, words.data(), sizeof words, MSG_NOSIGNAL);
        }
        strangers.push_back(stranger);
    }
    EXPECT_LT(settled_threads(), 100U);
    EXPECT_TRUE(is_filled(segment));
    for (const int each : strangers) {
        ::close(each);
    }
    for (int tries = 0;; ++tries) {
        // The server sees the end of a connection a moment later.
        try {
            const Segment another(options(tcp()));
            break;
        } catch (const std::system_error& error) {
            ASSERT_LT(tries, 2000) << error.what();
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }
}

// A client with the key may send messages that are hostile to others: the server stays, and so does their
// memory.
TEST_F(Peers, AClientThatSendsAnythingHarmsNobodyElse) {
    const Segment segment(options(tcp()));
    fill(segment);
    std::mt19937 random(11);
    std::vector<std::byte> payload(most_payload);
    for (int turn = 0; turn < 40; ++turn) {
        Connection connection(connect_to(tcp()), std::chrono::microseconds(0),
                              std::chrono::milliseconds(60'000));
        ASSERT_EQ(attach_raw(connection, key), Outcome::good);
        Header request{};
        request.operation = static_cast<Operation>(random() % 12);
        request.page = random() % 3 == 0 ? random() : random() % 300;
        request.count = random() % 4 == 0 ? random() : random() % 70;
        request.detail = random();
        for (std::byte& each : payload) {
            each = static_cast<std::byte>(random());
        }
        const std::size_t length = random() % 2 == 0 ? 0 : random() % (64 * page_bytes);
        Header answer{};
        std::vector<std::byte> room(most_payload);
        const Outcome outcome = connection.ask(request, payload.data(), length, nullptr, 0,
                                               Operation::fetched, answer, room.data(), room.size());
        EXPECT_TRUE(outcome != Outcome::stalled) << turn;
    }
    EXPECT_TRUE(is_filled(segment));
}

// Connections from this address that send nothing; each that the server ends is made again.
class Strangers {
  public:
    Strangers(std::uint16_t port, const char* from, std::size_t count) : port_(port), from_(from) {
        for (std::size_t i = 0; i < count; ++i) {
            all_.push_back({dial(), POLLIN, 0});
        }
    }
    Strangers(const Strangers&) = delete;
    Strangers& operator=(const Strangers&) = delete;
    ~Strangers() {
        ending_ = true;
        if (thread_.joinable()) {
            thread_.join();
        }
        for (const pollfd& each : all_) {
            ::close(each.fd);
        }
    }
    void renew() {
        thread_ = std::thread([this] {
            while (!ending_) {
                ::poll(all_.data(), all_.size(), 1);
                for (pollfd& each : all_) {
                    std::array<char, 256> hello{};
                    if (each.revents != 0 && ::recv(each.fd, hello.data(), hello.size(), MSG_DONTWAIT) <= 0) {
                        ::close(each.fd);
                        each.fd = dial();
                        ++renewed_;
                    }
                }
            }
        });
    }

    // Waits until the server has ended so many of them.
    void wait_for(std::size_t renewed) const {
        while (renewed_ < renewed) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    // Waits until the server has said something to the last of them, or ended it.
    void wait_for_greeting() const {
        pollfd last{all_.back().fd, POLLIN, 0};
        ::poll(&last, 1, -1);
    }
    // How many of them the server has not ended.
    [[nodiscard]] std::size_t held() const {
        std::size_t count = 0;
        for (const pollfd& each : all_) {
            pollfd one{each.fd, POLLRDHUP, 0};
            ::poll(&one, 1, 0);
            count += one.revents == 0 ? 1 : 0;
        }
        return count;
    }

  private:
    [[nodiscard]] int dial() const {
        const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        ::inet_pton(AF_INET, from_, &address.sin_addr);
        EXPECT_EQ(::bind(made, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(port_);
        EXPECT_EQ(::connect(made, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        return made;
    }
    std::uint16_t port_;
    const char* from_;
    std::vector<pollfd> all_;
    std::atomic<bool> ending_{false};
    std::atomic<std::size_t> renewed_{0};
    std::thread thread_;
};

// A client without the key shuts nobody out: not whoever comes from elsewhere, or by the local socket,
// however often it comes again; nor, by what it only holds, those of its own address. A client that has
// proved the key stays.
TEST_F(Peers, StrangersShutNobodyOut) {
    const Segment before(options(tcp()));
    fill(before);
    const auto attaches = [&](const std::string& where) {
        const Segment segment(options(where));
        fill(segment);
        return is_filled(segment);
    };
    {
        Strangers strangers(port, "127.0.0.2", 80);
        strangers.renew();
        for (int turn = 0; turn < 5; ++turn) {
            EXPECT_TRUE(attaches(tcp())) << turn;
            EXPECT_TRUE(attaches(path)) << turn;
        }
    }
    const Strangers of_this_address(port, "127.0.0.1", 80);
    const Strangers of_others[] = {
        {port, "127.0.0.2", 20}, {port, "127.0.0.3", 20}, {port, "127.0.0.4", 20}, {port, "127.0.0.5", 20}};
    EXPECT_TRUE(attaches(tcp()));
    EXPECT_TRUE(attaches(path));
    EXPECT_TRUE(is_filled(before));
    EXPECT_FALSE(before.lost());
}

// Whoever takes his time with the key waits as long as before, whatever strangers of one address do, or, of
// the local socket, those of any number of addresses.
TEST_F(Peers, StrangersShutNoSlowClientOut) {
    const auto proves = [&](int socket) {
        Connection connection(socket, std::chrono::microseconds(0), endless);
        return attach_raw(connection, key) == Outcome::good;
    };
    const int by_tcp = connect_to(tcp());
    const int local = connect_to(path);
    Strangers first(port, "127.0.0.2", 80);
    first.renew();
    first.wait_for(400);
    EXPECT_TRUE(proves(by_tcp));
    Strangers more[] = {
        {port, "127.0.0.3", 20}, {port, "127.0.0.4", 20}, {port, "127.0.0.5", 20}, {port, "127.0.0.6", 20}};
    for (Strangers& each : more) {
        each.renew();
    }
    for (const Strangers& each : more) {
        each.wait_for(100);
    }
    EXPECT_TRUE(proves(local));
}

// However many strangers hold a connection, and from however many addresses: the server keeps so many of
// them.
TEST_F(Peers, StrangersOfManyAddressesHoldFewConnections) {
    std::size_t held = 0;
    const Strangers strangers[] = {{port, "127.0.0.2", 20}, {port, "127.0.0.3", 20}, {port, "127.0.0.4", 20},
                                   {port, "127.0.0.5", 20}, {port, "127.0.0.6", 20}, {port, "127.0.0.7", 20}};
    // Once the server has greeted the last one it has ended those that had to go.
    for (const Strangers& each : strangers) {
        each.wait_for_greeting();
    }
    for (const Strangers& each : strangers) {
        held += each.held();
    }
    EXPECT_LE(held, 64U);
    EXPECT_LE(strangers[5].held(), 16U);
}

}  // namespace
