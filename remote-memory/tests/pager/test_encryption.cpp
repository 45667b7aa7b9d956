// SPDX-License-Identifier: Apache-2.0
//
// Nobody in the middle of an encrypted connection reads, changes, repeats or leaves out what goes over it.
#include <sodium.h>

#include <cstring>
#include <mutex>

#include "remote_support.hpp"

namespace {

using namespace remote_test;

class Middle : public Remote {
  protected:
    void SetUp() override {
        Remote::SetUp();
        std::string why;
        if (!can_page(Faults::in_thread, why)) {
            GTEST_SKIP() << why;
        }
        start();
    }
    [[nodiscard]] SegmentOptions encrypted(const std::string& where, std::size_t bytes = 4 * mib) const {
        SegmentOptions made = options(where, bytes);
        made.encrypt = true;
        made.prefetch = 1;
        return made;
    }
    static void fill(const Segment& segment) {
        auto* bytes = static_cast<char*>(segment.data());
        const std::string pattern = "nobody else may read this       ";
        for (std::size_t at = 0; at < segment.bytes(); at += pattern.size()) {
            std::memcpy(bytes + at, pattern.data(), pattern.size());
        }
    }
    static bool is_filled(const Segment& segment) {
        const auto* bytes = static_cast<const char*>(segment.data());
        for (std::size_t at = 0; at < segment.bytes(); at += 512) {
            if (std::memcmp(bytes + at, "nobody else", 11) != 0) {
                return false;
            }
        }
        return true;
    }
};

std::size_t times(const std::vector<char>& all, const std::string& what) {
    std::size_t found = 0;
    for (auto at = all.begin();; ++at) {
        at = std::search(at, all.end(), what.begin(), what.end());
        if (at == all.end()) {
            return found;
        }
        ++found;
    }
}

// Counts the program's words, and headers, in all that crosses the link both ways.
TEST_F(Middle, ReadsNothing) {
    for (const bool encrypt : {false, true}) {
        std::vector<char> seen;
        std::mutex seeing;
        const auto sees = [&](std::uint64_t, const char* bytes, std::size_t& length) {
            const std::lock_guard lock(seeing);
            seen.insert(seen.end(), bytes, bytes + length);
            return true;
        };
        {
            const Link link(tcp(), sees, sees);
            SegmentOptions wanted = encrypted(link.address());
            wanted.encrypt = encrypt;
            const Segment segment(wanted);
            fill(segment);
            EXPECT_TRUE(is_filled(segment));
        }
        if (encrypt) {
            EXPECT_EQ(times(seen, "nobody else"), 0U);
            // From the attaches of two connections: hello, attach, attached.
            EXPECT_EQ(times(seen, "CRMP"), 6U);
        } else {
            EXPECT_GT(times(seen, "nobody else"), 1000U);
        }
    }
}

// One answer in the place of a later one of the same length, both from this connection: an old page, signed
// by the server. Both forms find it.
class Replay : public Middle, public testing::WithParamInterface<bool> {};
TEST_P(Replay, AnOldAnswerInPlaceOfALaterOne) {
    const bool encrypt = GetParam();
    EXPECT_EXIT(
        {
            std::atomic<int> stage{0};
            std::vector<char> old;
            const Link link(tcp(), [&](std::uint64_t, char* bytes, std::size_t& length) {
                if (stage == 1 && length > page_bytes) {
                    old.assign(bytes, bytes + length);
                    stage = 2;
                } else if (stage == 2 && length == old.size()) {
                    std::memcpy(bytes, old.data(), length);
                }
                return true;
            });
            SegmentOptions wanted = encrypted(link.address());
            wanted.encrypt = encrypt;
            const Segment segment(wanted);
            fill(segment);
            stage = 1;
            ::_exit(is_filled(segment) ? 8 : 9);
        },
        testing::KilledBySignal(SIGBUS), "not one of this protocol; SIGBUS at 0x");
}
INSTANTIATE_TEST_SUITE_P(All, Replay, testing::Bool(),
                         [](const auto& info) { return info.param ? "Encrypted" : "Plain"; });

// With reconnection such an answer costs a connection, and nothing else.
TEST_F(Middle, ASpoiltAnswerIsAskedForAgain) {
    std::atomic<int> armed{0};
    const Link link(tcp(), [&](std::uint64_t, char* bytes, std::size_t& length) {
        if (armed > 0 && length > page_bytes) {
            --armed;
            bytes[length / 2] ^= 1;
        }
        return true;
    });
    SegmentOptions wanted = encrypted(link.address());
    wanted.reconnect = std::chrono::seconds(60);
    const Segment segment(wanted);
    fill(segment);
    armed = 10;
    EXPECT_TRUE(is_filled(segment));
    EXPECT_EQ(armed, 0);
    EXPECT_GE(segment.counters().reconnected, 10U);
}

// Someone in the middle asks for the form without encryption: the proof of the attach is over what was asked.
TEST_F(Middle, CannotTalkThemOutOfIt) {
    const auto nothing = [](std::uint64_t, const char*, std::size_t&) { return true; };
    const Link link(tcp(), nothing, [](std::uint64_t before, char* bytes, std::size_t& length) {
        constexpr std::size_t at = sizeof(Header) + offsetof(Attach, ciphers);
        if (before == 0 && length >= at + 4) {
            const std::uint32_t plain = only(Cipher::none);
            std::memcpy(bytes + at, &plain, sizeof plain);
        }
        return true;
    });
    try {
        const Segment segment(encrypted(link.address()));
        ADD_FAILURE() << "not refused";
    } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find("keys differ"), std::string::npos) << error.what();
    }
}

TEST_F(Middle, AServerMayDemandIt) {
    ServerProcess strict;
    ServerOptions offered;
    offered.bytes = 64 * mib;
    offered.must_encrypt = true;
    strict.start(offered, key);
    EXPECT_THROW(Segment(options(strict.address())), std::invalid_argument);
    const Segment segment(encrypted(strict.address()));
    fill(segment);
    EXPECT_TRUE(is_filled(segment));
    EXPECT_GT(segment.counters().fetched, 0U);
    // Through shared memory there is nothing to encrypt, and a client that wants it is told so.
    EXPECT_THROW(Segment(encrypted(path)), std::invalid_argument);
}

// Those that this processor has instructions for.
std::vector<Cipher> ciphers() {
    std::vector<Cipher> made;
    EXPECT_GE(::sodium_init(), 0);  // it looks for them
    for (const Cipher each : {Cipher::chacha20_poly1305, Cipher::aes256_gcm}) {
        if ((encrypting_ciphers() & only(each)) != 0) {
            made.push_back(each);
        }
    }
    return made;
}

// Each cipher: what one side seals the other opens, once, in order, and not the side that sealed it.
class EachCipher : public testing::TestWithParam<Cipher> {};
TEST_P(EachCipher, OpensWhatWasSealedOnceAndInOrder) {
    SessionKeys keys{};
    keys.from_client.fill(1);
    keys.from_server.fill(2);
    const auto client = std::make_unique<Sealer>();
    const auto server = std::make_unique<Sealer>();
    client->begin(keys, GetParam(), false);
    server->begin(keys, GetParam(), true);
    const std::string text = "a page";
    std::vector<std::byte> first(text.size() + Sealer::overhead);
    std::vector<std::byte> second(first.size());
    client->seal(text.data(), text.size(), first.data());
    client->seal(text.data(), text.size(), second.data());
    EXPECT_NE(first, second);
    std::string opened(text.size(), ' ');
    EXPECT_FALSE(client->open(first.data(), text.size(), opened.data()));
    ASSERT_TRUE(server->open(first.data(), text.size(), opened.data()));
    EXPECT_EQ(opened, text);
    EXPECT_FALSE(server->open(first.data(), text.size(), opened.data()));
}
INSTANTIATE_TEST_SUITE_P(All, EachCipher, testing::ValuesIn(ciphers()), [](const auto& info) {
    return info.param == Cipher::aes256_gcm ? "Aes256Gcm" : "ChaCha20Poly1305";
});

}  // namespace
