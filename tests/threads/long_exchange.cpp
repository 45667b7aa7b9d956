// SPDX-License-Identifier: Apache-2.0
//
// Long exchanges between two threads with every content checked, by hand or with the slow tests:
//
//   long_exchange MESSAGES FRESH
//
// MESSAGES through a Mailbox of 8 bytes; FRESH values through a small Snapshot (8 words) and through the
// pairs (64 words), each read while the writer goes on. Exit status 1: a content was wrong. Prints what was
// counted.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "consort/icc.hpp"
#include "pattern.hpp"

namespace {

using consort::Mailbox;
using consort::Snapshot;
using consort::Status;
using consort::test::Pattern;

// Gives the processor away after many turns, for machines with one to spare only.
struct Patient {
    static void relax() noexcept {
        thread_local std::uint32_t turns = 0;
        if (++turns % 4096 == 0) {
            std::this_thread::yield();
        } else {
            consort::isa::relax();
        }
    }
};

std::uint64_t mailbox(std::uint64_t messages) {
    using Value = Pattern<2>;
    using Box = Mailbox<Value>;
    const auto shared = std::make_unique<Box::Shared>();
    std::uint64_t wrong = 0;
    std::thread writing([&] {
        Box::Writer writer(*shared);
        for (std::uint64_t i = 0; i < messages; ++i) {
            static_cast<void>(writer.write<Patient>(Value::of(static_cast<std::uint32_t>(i))));
        }
    });
    Box::Reader reader(*shared);
    for (std::uint64_t i = 0; i < messages; ++i) {
        Value got{};
        const bool good = reader.read<Patient>(got) == Status::ok && got.whole() &&
                          got.number() == static_cast<std::uint32_t>(i);
        wrong += good ? 0 : 1;
    }
    writing.join();
    std::printf("counted: %llu of %llu mailbox messages wrong\n", static_cast<unsigned long long>(wrong),
                static_cast<unsigned long long>(messages));
    return wrong;
}

template <std::size_t Words>
std::uint64_t snapshot(std::uint64_t fresh) {
    using Value = Pattern<Words>;
    using Channel = Snapshot<Value, 1>;
    const auto shared = std::make_unique<typename Channel::Shared>();
    std::atomic<bool> stop{false};
    std::thread writing([&] {
        typename Channel::Writer writer(*shared);
        for (std::uint32_t i = 1; !stop.load(std::memory_order_relaxed); ++i) {
            writer.update(Value::of(i));
        }
    });
    typename Channel::Reader reader(*shared, 0);
    std::uint64_t wrong = 0;
    std::uint32_t last = 0;
    for (std::uint64_t copied = 0; copied < fresh;) {
        Value got{};
        const Status status = reader.read(got);
        if (status == Status::ok) {
            ++copied;
            wrong += got.whole() && static_cast<std::int32_t>(got.number() - last) > 0 ? 0 : 1;
            last = got.number();
        } else if (status == Status::would_block) {
            Patient::relax();
        } else {
            ++wrong;
            break;
        }
    }
    stop.store(true, std::memory_order_relaxed);
    writing.join();
    std::printf("counted: %llu of %llu fresh %s snapshots of %zu bytes torn or backwards\n",
                static_cast<unsigned long long>(wrong), static_cast<unsigned long long>(fresh),
                Channel::small ? "small" : "large", sizeof(Value));
    return wrong;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: long_exchange MESSAGES FRESH, such as 1000000000 10000000\n", stderr);
        return 2;
    }
    const std::uint64_t messages = std::strtoull(argv[1], nullptr, 10);
    const std::uint64_t fresh = std::strtoull(argv[2], nullptr, 10);
    if (messages == 0 || fresh == 0) {
        std::fputs("long_exchange: both counts are whole numbers above 0\n", stderr);
        return 2;
    }
    const std::uint64_t wrong = mailbox(messages) + snapshot<8>(fresh) + snapshot<64>(fresh);
    return wrong == 0 ? 0 : 1;
}
