// SPDX-License-Identifier: Apache-2.0
//
// One side of a link between two instruction sets, over a shared file: the ring, then the two windows.
//
//   link_peer serve FILE     the engine; ends when the file's last word says so
//   link_peer host FILE N    N transactions there and N back, contents checked; then the engine is told to
//   end
//
// The file is made by `link_peer make FILE`. Exit status 1: a content or a completion was wrong.

#include <sched.h>

#include <atomic>
#include <string>

#include "consort/link.hpp"
#include "shared_file.hpp"

namespace {

using namespace consort;
using cross::Copy;
using cross::fail;

constexpr std::uint32_t window_bytes = 16384;
using Ring = link::Ring<8>;

struct File {
    Ring::Shared ring;
    alignas(line_bytes) std::byte near[window_bytes];
    alignas(line_bytes) std::byte far[window_bytes];
    alignas(line_bytes) std::atomic<std::uint32_t> ended;
};

void serve(File& file) {
    Copy dma;
    link::Engine<Copy, 1, 8> engine(dma);
    if (!engine.attach(0, file.ring, {file.near, window_bytes}, {file.far, window_bytes})) {
        fail("the engine refused its queue");
    }
    while (file.ended.load() == 0) {
        if (!engine.step(0)) {
            ::sched_yield();
        }
    }
    if (engine.faults(0) != 0) {
        fail("the host's doorbell was refused", engine.faults(0));
    }
}

std::byte content(std::uint32_t number, std::uint32_t i) {
    return static_cast<std::byte>(number * 7U + i * 3U + 1U);
}

void reap(link::Host<8>& host, std::uint32_t tag, std::uint32_t bytes) {
    link::Completion done{};
    Status status = Status::would_block;
    while ((status = host.poll(done)) == Status::would_block) {
        ::sched_yield();
    }
    if (status != Status::ok || done.tag != tag || done.outcome != link::Outcome::moved ||
        done.bytes != bytes) {
        fail("another completion than was expected, of transaction", tag);
    }
}

void host(File& file, std::uint32_t transactions) {
    link::Host<8> side(file.ring, {file.near, window_bytes}, window_bytes);
    for (std::uint32_t n = 1; n <= transactions; ++n) {
        const std::uint32_t bytes = 2 + n * 37 % 4000;
        const std::uint32_t half = bytes / 2;
        for (std::uint32_t i = 0; i < bytes; ++i) {
            file.near[i] = content(n, i);
        }
        // The halves change places on the way there and again on the way back.
        const link::Piece there[2] = {{0, 4096, half}, {half, 12288, bytes - half}};
        const link::Piece back[2] = {{8192 + half, 12288, bytes - half}, {8192, 4096, half}};
        if (side.try_post(link::Direction::to_peer, there, 2, 2 * n, link::Completing::by_status) !=
                link::Posting::ok ||
            side.try_post(link::Direction::from_peer, back, 2, 2 * n + 1, link::Completing::by_status) !=
                link::Posting::ok) {
            fail("the ring took no transaction", n);
        }
        // A peer that died must not leave this one waiting.
        ::alarm(60);
        reap(side, 2 * n, bytes);
        reap(side, 2 * n + 1, bytes);
        for (std::uint32_t i = 0; i < bytes; ++i) {
            if (file.near[8192 + i] != content(n, i)) {
                fail("another content came back in transaction", n);
            }
        }
    }
    file.ended.store(1);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 2 ? argv[1] : "";
    if (what == "make" && argc == 3) {
        cross::map<File>(argv[2], true);
    } else if (what == "serve" && argc == 3) {
        serve(cross::map<File>(argv[2], false));
    } else if (what == "host" && argc == 4) {
        host(cross::map<File>(argv[2], false),
             static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10)));
    } else {
        std::fputs("link_peer make FILE | serve FILE | host FILE N\n", stderr);
        return 2;
    }
    return 0;
}
