// SPDX-License-Identifier: Apache-2.0
//
// One side of a shared region between two instruction sets, over a shared file with a memory for each:
//
//   shared_peer make FILE
//   shared_peer host FILE N    N uses; this side moves the bytes as well, and prints the region's sum
//   shared_peer peer FILE N    N uses; prints the sum that it saw after its last one and the other's
//
// Each use adds to words all over the region, which are little-endian, and marks them. Exit status 1: an
// outcome or a sum was wrong.

#include <sched.h>

#include <atomic>
#include <string>

#include "consort/dsm.hpp"
#include "consort/link.hpp"
#include "shared_file.hpp"

namespace {

using namespace consort;
using cross::fail;
using dsm::Right;

constexpr std::uint32_t pages = 4;
constexpr std::uint32_t bytes = pages * dsm::page_bytes;
constexpr std::uint32_t window = bytes + pages * 8;
using Queue = link::Host<8>;
using Host = dsm::Host<Queue>;
using Peer = dsm::Peer<>;

struct File {
    link::Ring<8>::Shared ring;
    Host::Mail::Shared to_peer;
    Host::Mail::Shared to_host;
    alignas(line_bytes) std::byte near[window];
    alignas(line_bytes) std::byte far[window];
    alignas(line_bytes) std::atomic<std::uint32_t> done[2];
};

std::uint32_t word(const std::byte* region, std::uint32_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, region + at, sizeof value);
    return wire(value);
}

template <class Side>
void use(Side& side, std::byte* region, std::uint32_t number) {
    for (const std::uint32_t at :
         {number % 61 * 64, number % 3 * 4096 + number % 7 * 320, 12288 + number % 2 * 64}) {
        const std::uint32_t value = wire(word(region, at) + number);
        std::memcpy(region + at, &value, sizeof value);
        side.touch(at, sizeof value);
    }
}

std::uint32_t sum_of(const std::byte* region) {
    std::uint32_t sum = 0;
    for (std::uint32_t at = 0; at < bytes; at += 4) {
        sum = sum * 31 + word(region, at);
    }
    return sum;
}

// `others`: what else this side does. Uses alternate with whatever the other side does in the meantime.
template <class Side, class Others>
void go_on(Side& side, std::byte* region, std::atomic<std::uint32_t>* done, std::uint32_t which,
           std::uint32_t uses, Others&& others) {
    const auto acquire = [&](Right right) {
        // A side that died must not leave this one waiting.
        ::alarm(60);
        while (!side.try_acquire(right)) {
            if (side.faulty() || side.lost()) {
                fail("the region is lost");
            }
            others();
            ::sched_yield();
        }
    };
    for (std::uint32_t i = 0; i < uses; ++i) {
        acquire(Right::write);
        use(side, region, 2 * i + which);
        side.release();
    }
    done[which].store(wire(1));
    while (done[1 - which].load() == 0) {
        others();
        static_cast<void>(side.serve());
        ::sched_yield();
    }
    acquire(Right::read);
    std::printf("%u\n", sum_of(region));
    side.release();
    done[which].store(wire(2));
    while (wire(done[1 - which].load()) != 2) {
        others();
        static_cast<void>(side.serve());
        ::sched_yield();
    }
}

void host(File& file, std::uint32_t uses) {
    cross::Copy dma;
    link::Engine<cross::Copy, 1, 8> engine(dma);
    if (!engine.attach(0, file.ring, {file.near, window}, {file.far, window})) {
        fail("the engine refused its queue");
    }
    Queue queue(file.ring, {file.near, window}, window);
    std::uint64_t own[pages];
    std::uint64_t last[pages];
    Host side(file.to_peer, file.to_host, queue, {0, 0, bytes, bytes}, {own, pages}, {last, pages},
              {reinterpret_cast<std::uint64_t*>(file.near + bytes), pages});
    go_on(side, file.near, file.done, 0, uses, [&] { static_cast<void>(engine.step(0)); });
    if (uses > 100 && side.moved().bytes_in > std::uint64_t{uses} * 6 * 64 + 2 * bytes) {
        fail("more than the changed lines was moved");
    }
}

void peer(File& file, std::uint32_t uses) {
    Peer side(file.to_host, file.to_peer, file.far, reinterpret_cast<std::uint64_t*>(file.far + bytes),
              pages);
    go_on(side, file.far, file.done, 1, uses, [] {});
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 2 ? argv[1] : "";
    const auto uses = argc == 4 ? static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10)) : 0;
    if (what == "make" && argc == 3) {
        cross::map<File>(argv[2], true);
    } else if (what == "host" && argc == 4) {
        host(cross::map<File>(argv[2], false), uses);
    } else if (what == "peer" && argc == 4) {
        peer(cross::map<File>(argv[2], false), uses);
    } else {
        std::fputs("shared_peer make FILE | host FILE N | peer FILE N\n", stderr);
        return 2;
    }
    return 0;
}
