// SPDX-License-Identifier: Apache-2.0
//
// A region over each kind of shared memory, made on one side and used on the other.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "consort/icc.hpp"
#include "consort/linux/shared_memory.hpp"

namespace {

using consort::Duplex;
using consort::Region;
using consort::RegionMaker;
using consort::linux_port::SharedMemory;

constexpr std::size_t bytes = 1U << 16U;

struct Ping {
    std::uint32_t number;
    float value;
};
using Mail = Duplex<Ping, Ping>;

void make(const SharedMemory& memory) {
    auto maker = RegionMaker<>::begin(memory.base(), memory.bytes(), {}).value();
    ASSERT_TRUE(maker.add<Mail>("mail").ok());
    ASSERT_TRUE(maker.publish().ok());
}

Mail::Shared& open(const SharedMemory& memory) {
    auto region = Region<>::attach(memory.base(), memory.bytes());
    EXPECT_TRUE(region.ok()) << to_string(region.refusal().reason);
    return *region.value().open<Mail>("mail").value();
}

// Echoes in a child process that maps the memory anew, and checks every message in this one.
template <class Open>
void exchange(const SharedMemory& memory, Open open_again) {
    make(memory);
    constexpr std::uint32_t messages = 2000;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const SharedMemory mine = open_again();
        Mail::Server duplex(open(mine));
        for (std::uint32_t i = 0; i < messages; ++i) {
            Ping ping{};
            if (duplex.read(ping) != consort::Status::ok || ping.number != i) {
                ::_exit(1);
            }
            ping.value *= 2;
            if (duplex.write(ping) != consort::Status::ok) {
                ::_exit(1);
            }
        }
        ::_exit(0);
    }
    Mail::Client duplex(open(memory));
    for (std::uint32_t i = 0; i < messages; ++i) {
        ASSERT_EQ(duplex.write({i, static_cast<float>(i)}), consort::Status::ok);
        Ping answer{};
        ASSERT_EQ(duplex.read(answer), consort::Status::ok);
        ASSERT_EQ(answer.number, i);
        ASSERT_EQ(answer.value, 2.0F * static_cast<float>(i));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

struct TemporaryFile {
    std::string path =
        std::filesystem::temp_directory_path() / ("consort-test-" + std::to_string(::getpid()));
    explicit TemporaryFile(std::size_t size) {
        std::ofstream(path).put('\0');
        std::filesystem::resize_file(path, size);
    }
    ~TemporaryFile() { std::filesystem::remove(path); }
};

TEST(SharedMemory, AnonymousThroughTheProcessesDescriptor) {
    const auto memory = SharedMemory::anonymous("consort-test", bytes);
    const std::string path = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(memory.fd());
    exchange(memory, [&] { return SharedMemory::open_file(path); });
}

// A peer that could shorten the memory could end every process that reads it, with SIGBUS.
TEST(SharedMemory, NobodyCanResizeAnonymousMemory) {
    const auto memory = SharedMemory::anonymous("consort-test", bytes);
    make(memory);
    const std::string path = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(memory.fd());
    const auto peer = SharedMemory::open_file(path);
    EXPECT_TRUE(peer.size_is_sealed());
    EXPECT_NE(::ftruncate(peer.fd(), 0), 0);
    EXPECT_EQ(errno, EPERM);
    EXPECT_NE(::ftruncate(peer.fd(), 2 * bytes), 0);
    EXPECT_NE(::fcntl(peer.fd(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0) << "writing cannot be forbidden";
    EXPECT_TRUE(Region<>::attach(memory.base(), memory.bytes()).ok());
    const TemporaryFile file(bytes);
    EXPECT_FALSE(SharedMemory::open_file(file.path).size_is_sealed());
}

TEST(SharedMemory, NamedIsGoneWithItsMaker) {
    const std::string name = "/consort-test-" + std::to_string(::getpid());
    {
        const auto memory = SharedMemory::create_named(name, bytes);
        try {
            SharedMemory::create_named(name, bytes);
            FAIL() << "taken over silently";
        } catch (const std::system_error& error) {
            EXPECT_EQ(error.code(), std::errc::file_exists) << error.what();
        }
        exchange(memory, [&] { return SharedMemory::open_named(name); });
    }
    EXPECT_THROW(SharedMemory::open_named(name), std::system_error);
}

// A maker that is killed removes nothing. Its name is free all the same, and who attaches can see it.
TEST(SharedMemory, TheNameOfAKilledMakerIsTakenOver) {
    const std::string name = "/consort-test-killed-" + std::to_string(::getpid());
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t maker = ::fork();
    if (maker == 0) {
        const auto memory = SharedMemory::create_named(name, bytes);
        static_cast<unsigned char*>(memory.base())[0] = 7;
        [[maybe_unused]] const auto said = ::write(ends[1], "", 1);
        for (;;) {
            ::pause();
        }
    }
    char made = 0;
    ASSERT_EQ(::read(ends[0], &made, 1), 1);
    const auto orphan = SharedMemory::open_named(name);
    EXPECT_TRUE(orphan.maker_lives());
    EXPECT_THROW(SharedMemory::create_named(name, bytes), std::system_error);
    ::kill(maker, SIGKILL);
    ::waitpid(maker, nullptr, 0);
    EXPECT_FALSE(orphan.maker_lives());
    EXPECT_FALSE(SharedMemory::open_named(name, false).maker_lives());
    {
        const auto memory = SharedMemory::create_named(name, bytes);
        EXPECT_TRUE(memory.maker_lives());
        EXPECT_TRUE(SharedMemory::open_named(name, false).maker_lives());
        EXPECT_EQ(static_cast<unsigned char*>(memory.base())[0], 0);
        EXPECT_EQ(static_cast<unsigned char*>(orphan.base())[0], 7);
        EXPECT_THROW(SharedMemory::create_named(name, bytes), std::system_error);
    }
    EXPECT_THROW(SharedMemory::open_named(name), std::system_error);
    ::close(ends[0]);
    ::close(ends[1]);
}

// If several take a name over at once, one gets it.
TEST(SharedMemory, OneOfManyTakesOver) {
    const std::string name = "/consort-test-many-" + std::to_string(::getpid());
    for (int round = 0; round < 100; ++round) {
        const pid_t maker = ::fork();
        if (maker == 0) {
            const auto memory = SharedMemory::create_named(name, bytes);
            ::_exit(0);  // without the destructor
        }
        ::waitpid(maker, nullptr, 0);
        std::array<int, 2> ends{};
        ASSERT_EQ(::pipe(ends.data()), 0);
        std::array<pid_t, 4> takers{};
        for (pid_t& taker : takers) {
            taker = ::fork();
            if (taker == 0) {
                ::close(ends[1]);
                try {
                    const auto memory = SharedMemory::create_named(name, bytes);
                    char all = 0;  // have tried
                    [[maybe_unused]] const auto ended = ::read(ends[0], &all, 1);
                    ::_exit(0);
                } catch (const std::system_error&) {
                    ::_exit(1);
                }
            }
        }
        int losers = 0;
        int status = 0;
        while (losers < 3 && ::waitpid(-1, &status, 0) > 0) {
            ASSERT_EQ(WEXITSTATUS(status), 1);
            ++losers;
        }
        ::close(ends[1]);
        ASSERT_GT(::waitpid(-1, &status, 0), 0);
        ASSERT_EQ(WEXITSTATUS(status), 0);
        ::close(ends[0]);
    }
    SharedMemory::create_named(name, bytes);
}

// It may be any program's.
TEST(SharedMemory, WhatOthersNamedIsNotTakenOver) {
    const std::string name = "/consort-test-other-" + std::to_string(::getpid());
    const int other = ::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
    ASSERT_GE(other, 0);
    EXPECT_THROW(SharedMemory::create_named(name, bytes), std::system_error);
    EXPECT_EQ(::shm_unlink(name.c_str()), 0);
    ::close(other);
}

TEST(SharedMemory, MappedFile) {
    const TemporaryFile file(bytes);
    const auto memory = SharedMemory::open_file(file.path);
    exchange(memory, [&] { return SharedMemory::open_file(file.path); });
}

// The range's device is a file here: what differs with /dev/mem is the kernel's, not ours.
TEST(SharedMemory, RangeOfADeviceAtAnOffset) {
    constexpr std::uint64_t address = 1U << 20U;
    const TemporaryFile device(address + bytes);
    const auto memory = SharedMemory::physical(device.path, address, bytes);
    exchange(memory, [&] { return SharedMemory::physical(device.path, address, bytes); });
    const auto whole = SharedMemory::open_file(device.path);
    EXPECT_TRUE(Region<>::attach(static_cast<unsigned char*>(whole.base()) + address, bytes).ok());
}

TEST(SharedMemory, SaysWhatCannotBeMapped) {
    EXPECT_THROW(SharedMemory::open_file("/nonexistent/region"), std::system_error);
    const TemporaryFile empty(0);
    EXPECT_THROW(SharedMemory::open_file(empty.path), std::system_error);
}

TEST(SharedMemory, AReadOnlyMappingCanBeAttachedTo) {
    const TemporaryFile file(bytes);
    make(SharedMemory::open_file(file.path));
    const auto view = SharedMemory::open_file(file.path, false);
    EXPECT_TRUE(Region<>::attach(view.base(), view.bytes()).ok());
}

}  // namespace
