// SPDX-License-Identifier: Apache-2.0
//
// Linux's side of the example:  linux DEVICES MEMORY OFFSET IDENTITY MESSAGES
// sends a stream of messages through the first of DEVICES that is there (/dev/rpmsg: rpmsg0, rpmsg1 and so
// on; Linux takes another number where the former device is still open), takes in the answers, and says how
// many came. What it remembers lies in MEMORY (/dev/mem, or a file) at OFFSET and outlives it. The device may
// go and come again at any time, and so may this program. MESSAGES 0: no more than were written by those
// before it.
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "examples/rpmsg/messages.hpp"

namespace {

using namespace rpmsg_example;
// Physical memory is mapped as device memory.
using Ours = Stream<consort::access::Device>;

consort::Ticks now() {
    timespec at{};
    ::clock_gettime(CLOCK_MONOTONIC, &at);
    return static_cast<consort::Ticks>(at.tv_sec) * 1000000000U + static_cast<consort::Ticks>(at.tv_nsec);
}

int first_of(const char* devices) {
    int device = -1;
    for (int number = 0; number < 64 && device < 0; ++number) {
        char path[64];
        std::snprintf(path, sizeof path, "%s%d", devices, number);
        device = ::open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    }
    return device;
}

struct Side {
    Ours& stream;
    std::uint32_t messages;
    std::uint32_t wrong = 0;
    std::uint32_t opened = 0;

    [[nodiscard]] bool over() const {
        return stream.acknowledged() == messages && stream.messages_taken() == messages;
    }
    void write() {
        while (stream.written() < messages) {
            const Words made(stream.written() + 1, false);
            if (!stream.try_write(made.at, made.bytes)) {
                return;
            }
        }
    }
    // Until the device goes, or all is done.
    void use(int device) {
        Ours::Datagram datagram{};
        unsigned char said[consort::rpmsg::payload_bytes];
        while (!over()) {
            write();
            while (stream.next(datagram, now())) {
                if (::write(device, datagram.at, datagram.bytes) < 0) {
                    stream.unsent();
                    if (errno == EAGAIN || errno == EINTR || errno == ENOMEM) {
                        break;
                    }
                    return;
                }
            }
            const ssize_t bytes = ::read(device, said, sizeof said);
            if (bytes < 0 && errno != EAGAIN && errno != EINTR) {
                return;
            }
            if (bytes < 0) {
                // Not poll(): of a device that has just gone it makes Linux's rpmsg_core warn (6.1).
                ::usleep(1000);
                continue;
            }
            consort::rpmsg::StreamMessage message{};
            if (bytes > 0 && stream.hear(said, static_cast<std::uint32_t>(bytes), now(), message)) {
                wrong += Words(message.number, true).equal(message) ? 0 : 1;
                stream.taken();
            }
        }
    }
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6) {
        std::fprintf(stderr, "usage: %s DEVICES MEMORY OFFSET IDENTITY MESSAGES\n", argv[0]);
        return 2;
    }
    const int memory = ::open(argv[2], O_RDWR | O_SYNC | O_CLOEXEC);
    void* const kept = memory < 0 ? MAP_FAILED
                                  : ::mmap(nullptr, kept_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory,
                                           static_cast<off_t>(std::strtoull(argv[3], nullptr, 0)));
    if (kept == MAP_FAILED) {
        std::perror(argv[2]);
        return 2;
    }
    Ours stream(*static_cast<Ours::Shared*>(kept),
                static_cast<std::uint32_t>(std::strtoul(argv[4], nullptr, 0)), 50000000);
    const auto messages = static_cast<std::uint32_t>(std::strtoul(argv[5], nullptr, 0));
    Side side{stream, messages == 0 ? stream.written() : messages};
    while (!side.over()) {
        const int device = first_of(argv[1]);
        if (device < 0) {
            ::usleep(1000);
            continue;
        }
        ++side.opened;
        side.use(device);
        ::close(device);
    }
    std::printf(
        "rpmsg-example: %u messages acknowledged, %u answers, %u wrong, %u refused, device opened %u times\n",
        stream.acknowledged(), stream.messages_taken(), side.wrong, stream.refused() + stream.strangers(),
        side.opened);
    return side.wrong == 0 && stream.refused() + stream.strangers() == 0 ? 0 : 1;
}
