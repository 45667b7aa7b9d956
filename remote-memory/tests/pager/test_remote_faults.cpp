// SPDX-License-Identifier: Apache-2.0
//
// Each fault has a stated outcome: a refusal, or SIGBUS with a message. Never zeros.
#include <cstring>

#include "remote_support.hpp"

namespace {

using namespace remote_test;

class Broken : public Remote {
  protected:
    void SetUp() override {
        Remote::SetUp();
        std::string why;
        if (!can_page(Faults::in_thread, why)) {
            GTEST_SKIP() << why;
        }
        start();
    }
    // Makes the first page go home.
    static void fill(const Segment& segment) { std::memset(segment.data(), 'x', segment.bytes()); }
    static int first_byte(const Segment& segment) {
        return *static_cast<const volatile char*>(segment.data());
    }

    void expect_refused(const SegmentOptions& wanted, const std::string& words) {
        try {
            const Segment segment(wanted);
            ADD_FAILURE() << "not refused";
        } catch (const std::invalid_argument& error) {
            EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
        }
    }
};

TEST_F(Broken, AWrongKeyIsRefused) {
    for (const std::string& where : {path, tcp()}) {
        SegmentOptions wanted = options(where);
        wanted.key_file = write_key("other", 'o');
        expect_refused(wanted, "keys differ");
    }
}

TEST_F(Broken, AKeyThatOthersMayReadIsRefused) {
    ::chmod(key.c_str(), 0644);
    expect_refused(options(path), "chmod 600");
    ::chmod(key.c_str(), 0600);
    std::ofstream(key) << "short";
    expect_refused(options(path), "32 bytes");
}

TEST_F(Broken, MoreThanTheServerHasIsRefused) {
    expect_refused(options(tcp(), 65 * mib), "not that much memory");
    const Segment most(options(tcp(), 60 * mib));
    expect_refused(options(tcp(), 8 * mib), "not that much memory");
}

TEST_F(Broken, ADetachedSegmentsRoomIsGivenToTheNext) {
    for (int i = 0; i < 4; ++i) {
        for (int tries = 0;; ++tries) {
            // The server sees the end of a connection a moment later.
            try {
                const Segment segment(options(i % 2 == 0 ? tcp() : path, 60 * mib));
                break;
            } catch (const std::invalid_argument& error) {
                ASSERT_LT(tries, 2000) << error.what();
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            }
        }
    }
}

TEST_F(Broken, NoServer) {
    EXPECT_THROW(Segment(options(folder + "/nothing")), std::system_error);
    stop();
    EXPECT_THROW(Segment(options(tcp())), std::system_error);
}

// One message of a client that keeps to no rule.
Outcome refusal_of(Connection& connection, Header request, Refusal& why, const void* payload = nullptr,
                   std::size_t length = 0) {
    Header answer{};
    std::vector<std::byte> room(most_payload);
    const Outcome outcome = connection.ask(request, payload, length, nullptr, 0, Operation::fetched, answer,
                                           room.data(), room.size());
    why = connection.refusal();
    return outcome;
}

class RawClient : public Broken {
  protected:
    [[nodiscard]] std::unique_ptr<Connection> unattached() const {
        return std::make_unique<Connection>(connect_to(tcp()), std::chrono::microseconds(0),
                                            std::chrono::milliseconds(60'000));
    }
    std::unique_ptr<Connection> connected(ClientAttach& wanted) {
        wanted.bytes = mib;
        auto made = unattached();
        EXPECT_EQ(attach_raw(*made, key, wanted), Outcome::good);
        return made;
    }
    std::unique_ptr<Connection> connected() {
        ClientAttach wanted;
        return connected(wanted);
    }
};

TEST_F(RawClient, AnAccessOutsideOfTheSegmentIsRefused) {
    for (const std::uint32_t page : {mib / page_bytes, mib / page_bytes - 1, std::size_t{0xffffffff}}) {
        const auto connection = connected();
        Header request{};
        request.operation = Operation::fetch;
        request.page = page;
        request.count = 2;
        Refusal why{};
        EXPECT_EQ(refusal_of(*connection, request, why), Outcome::refused);
        EXPECT_EQ(why, Refusal::out_of_range);
    }
}

TEST_F(RawClient, ACorruptedStoreIsRefused) {
    const auto connection = connected();
    std::vector<std::byte> payload(sizeof(StoredPage) + page_bytes);
    const StoredPage page{0, page_crc(payload.data() + sizeof(StoredPage)) ^ 1U};
    std::memcpy(payload.data(), &page, sizeof page);
    Header request{};
    request.operation = Operation::store;
    request.count = 1;
    Refusal why{};
    EXPECT_EQ(refusal_of(*connection, request, why, payload.data(), payload.size()), Outcome::refused);
    EXPECT_EQ(why, Refusal::corrupted);
}

TEST_F(RawClient, ARepeatedRequestIsRefused) {
    const auto connection = connected();
    Header request{};
    request.operation = Operation::fetch;
    request.count = 1;
    Refusal why{};
    EXPECT_EQ(refusal_of(*connection, request, why), Outcome::good);
    --connection->sequence;
    Header answer{};
    EXPECT_EQ(connection->send(request, nullptr, 0), Outcome::good);
    EXPECT_EQ(connection->receive(answer, nullptr, 0), Outcome::good);
    EXPECT_EQ(answer.operation, Operation::refused);
    EXPECT_EQ(answer.detail, static_cast<std::uint32_t>(Refusal::replayed));
}

TEST_F(RawClient, AnUnsignedRequestIsRefused) {
    const auto connection = connected();
    ASSERT_TRUE(connection->secure({}, Cipher::none, false));  // another session's key
    Header request{};
    request.operation = Operation::fetch;
    request.count = 1;
    Refusal why{};
    EXPECT_NE(refusal_of(*connection, request, why), Outcome::good);
}

TEST_F(RawClient, AnotherClientsSegmentCannotBeNamed) {
    ClientAttach mine;
    const auto connection = connected(mine);
    ClientAttach other = mine;
    other.id[3] ^= 1U;
    auto guessing = unattached();
    EXPECT_EQ(attach_raw(*guessing, key, other), Outcome::refused);
    EXPECT_EQ(guessing->refusal(), Refusal::unknown_segment);
    // The identifier crosses the network; the key and it are not enough.
    other = mine;
    other.secret = {};
    auto spying = unattached();
    EXPECT_EQ(attach_raw(*spying, key, other), Outcome::refused);
    EXPECT_EQ(spying->refusal(), Refusal::wrong_key);
    const auto again = unattached();
    EXPECT_EQ(attach_raw(*again, key, mine), Outcome::good);
}

TEST_F(RawClient, TheNextClientReadsZeros) {
    std::vector<char> secret(48 * mib);
    {
        const Segment segment(options(tcp(), 48 * mib));
        fill(segment);
    }
    for (;;) {
        Connection connection(connect_to(tcp()), std::chrono::microseconds(0),
                              std::chrono::milliseconds(60'000));
        if (attach_raw(connection, key, 48 * mib) != Outcome::good) {
            ASSERT_EQ(connection.refusal(), Refusal::no_room);
            continue;
        }
        std::vector<char> page(page_bytes);
        for (std::uint32_t number = 0; number < 48 * mib / page_bytes; number += 97) {
            Header request{};
            request.operation = Operation::fetch;
            request.page = number;
            request.count = 1;
            Header answer{};
            ASSERT_EQ(connection.ask(request, nullptr, 0, nullptr, 0, Operation::fetched, answer, page.data(),
                                     page.size()),
                      Outcome::good);
            ASSERT_EQ(page, std::vector<char>(page_bytes)) << number;
        }
        return;
    }
}

// One side's words, said again to a new connection, prove nothing: the other side's nonce is new.
TEST_F(RawClient, ARecordedAttachIsRefused) {
    const auto say = [&](const std::vector<char>& recorded, std::vector<char>& sent) {
        const int socket = connect_to(tcp());
        std::array<char, sizeof(Header) + sizeof(Hello)> hello{};
        EXPECT_EQ(::recv(socket, hello.data(), hello.size(), MSG_WAITALL),
                  static_cast<ssize_t>(hello.size()));
        if (recorded.empty()) {
            Attach attach{};
            attach.bytes = mib;
            attach.ciphers = only(Cipher::none);
            Hello said{};
            std::memcpy(&said, hello.data() + sizeof(Header), sizeof said);
            const Ephemeral own = Ephemeral::make();
            attach.ephemeral = own.open;
            Transcript transcript{};
            transcript.server = said.nonce;
            transcript.server_ephemeral = said.ephemeral;
            transcript.client_ephemeral = own.open;
            transcript.bytes = mib;
            transcript.ciphers = attach.ciphers;
            attach.proof = prove(read_key(key), 'c', transcript);
            Header header{};
            header.magic = protocol_magic;
            header.version = protocol_version;
            header.operation = Operation::attach;
            header.length = sizeof attach;
            sent.resize(sizeof header + sizeof attach);
            std::memcpy(sent.data(), &header, sizeof header);
            std::memcpy(sent.data() + sizeof header, &attach, sizeof attach);
        } else {
            sent = recorded;
        }
        EXPECT_EQ(::send(socket, sent.data(), sent.size(), 0), static_cast<ssize_t>(sent.size()));
        Header answer{};
        EXPECT_EQ(::recv(socket, &answer, sizeof answer, MSG_WAITALL), static_cast<ssize_t>(sizeof answer));
        ::close(socket);
        return answer;
    };
    std::vector<char> recorded;
    std::vector<char> again;
    EXPECT_EQ(say({}, recorded).operation, Operation::attached);
    const Header answer = say(recorded, again);
    EXPECT_EQ(answer.operation, Operation::refused);
    EXPECT_EQ(answer.detail, static_cast<std::uint32_t>(Refusal::wrong_key));
    // The same with another version in its header.
    recorded[4] = static_cast<char>(protocol_version + 1);
    EXPECT_EQ(say(recorded, again).detail, static_cast<std::uint32_t>(Refusal::wrong_version));
}

TEST_F(Broken, AServerOfAnotherVersionIsRefused) {
    const Link link(tcp(), [](std::uint64_t before, char* bytes, std::size_t&) {
        if (before == 0) {
            bytes[4] = static_cast<char>(protocol_version + 1);
        }
        return true;
    });
    expect_refused(options(link.address()), "versions");
}

// --- deaths: each in a child, which makes its own segment, because no thread outlives a fork
// ------------------

using Death = Broken;

TEST_F(Death, AServerThatDies) {
    EXPECT_EXIT(
        {
            const Segment segment(options(tcp()));
            fill(segment);
            ::kill(server, SIGKILL);
            first_byte(segment);
        },
        testing::KilledBySignal(SIGBUS), "closed the connection or died; SIGBUS at 0x");
}

TEST_F(Death, AServerThatDiesWhileAHandlerServes) {
    std::string why;
    if (!can_page(Faults::handler, why)) {
        GTEST_SKIP() << why;
    }
    EXPECT_EXIT(
        {
            SegmentOptions wanted = options(tcp());
            wanted.faults = Faults::handler;
            const Segment segment(wanted);
            fill(segment);
            ::kill(server, SIGKILL);
            first_byte(segment);
        },
        testing::KilledBySignal(SIGBUS), "closed the connection or died; SIGBUS at 0x");
}

TEST_F(Death, WritesWithNowhereToGo) {
    EXPECT_EXIT(
        {
            const Segment segment(options(tcp()));
            ::kill(server, SIGKILL);
            fill(segment);
        },
        testing::KilledBySignal(SIGBUS), "consort remote: segment .*; SIGBUS at 0x");
}

TEST_F(Death, ALinkThatStalls) {
    EXPECT_EXIT(
        {
            std::atomic<bool> stalls{false};
            const Link link(tcp(), [&](std::uint64_t, char*, std::size_t& length) {
                length = stalls ? 0 : length;
                return true;
            });
            SegmentOptions wanted = options(link.address());
            wanted.patience = std::chrono::seconds(2);
            const Segment segment(wanted);
            fill(segment);
            stalls = true;
            first_byte(segment);
        },
        testing::KilledBySignal(SIGBUS), "did not answer in time; SIGBUS at 0x");
}

// Spoils what the server answers to fetches: each of its other messages is shorter than a page.
class Spoiled : public Broken {
  protected:
    void expect_death(const Link::Spoil& spoil, const char* words) {
        EXPECT_EXIT(
            {
                std::atomic<bool> armed{false};
                const Link link(tcp(), [&](std::uint64_t before, char* bytes, std::size_t& length) {
                    return !armed || spoil(before, bytes, length);
                });
                const Segment segment(options(link.address()));
                fill(segment);
                armed = true;
                first_byte(segment);
                std::exit(first_byte(segment) == 'x' ? 10 : 11);
            },
            testing::KilledBySignal(SIGBUS), words);
    }
};

TEST_F(Spoiled, AnAnswerThatEndsEarly) {
    expect_death(
        [](std::uint64_t, char*, std::size_t& length) {
            length = std::min<std::size_t>(length, 1000);
            return length < 1000;
        },
        "ended within a message; SIGBUS at 0x");
}

TEST_F(Spoiled, APageWithOneOtherBit) {
    expect_death(
        [](std::uint64_t, char* bytes, std::size_t& length) {
            if (length > sizeof(Header)) {
                bytes[length - 1] ^= 4;
            }
            return true;
        },
        "other content than was stored .CRC.; SIGBUS at 0x");
}

TEST_F(Spoiled, AHeaderWithOneOtherBit) {
    expect_death(
        [](std::uint64_t, char* bytes, std::size_t&) {
            bytes[20] ^= 1;
            return true;
        },
        "not one of this protocol; SIGBUS at 0x");
}

// The memory of a segment that the server gave stays with the client, whatever becomes of the server.
TEST_F(Broken, SharedMemoryOutlivesItsServer) {
    const Segment segment(options(path));
    fill(segment);
    stop();
    const auto* bytes = static_cast<const char*>(segment.data());
    for (std::size_t at = 0; at < segment.bytes(); at += 1000) {
        ASSERT_EQ(bytes[at], 'x');
    }
    EXPECT_FALSE(segment.lost());
}

TEST_F(Broken, OptionsThatCannotBeServed) {
    expect_refused(options(path, 4097), "multiple of 4 KiB");
    expect_refused(options(path, mib, 4096), "at least 1 MiB");
    SegmentOptions wanted = options(path);
    wanted.prefetch = 65;
    expect_refused(wanted, "1 to 64");
    wanted = options(tcp());
    wanted.pages = Pages::mapped;
    expect_refused(wanted, "server on this machine");
}

}  // namespace
