// SPDX-License-Identifier: Apache-2.0
//
// One side of an exchange between two instruction sets, over a region in a shared file:
//
//   peer make FILE              makes the region in a file of the right size
//   peer ping FILE N POLICY     sends N requests, checks every answer, publishes snapshots, reads the log
//   peer echo FILE N POLICY     answers them, checks every snapshot, writes the log
//
// POLICY is coherent, system-barrier or device. Exit status 1: the content was wrong.

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "consort/icc.hpp"
#include "message.hpp"

namespace {

using consort::Result;
using consort::Status;
using cross::Message;
using cross::Mode;

constexpr std::size_t region_bytes = 1U << 16U;

template <class A>
using Box = consort::Mailbox<Message, A>;
template <class A>
using Latest = consort::Snapshot<Message, 1, A>;
template <class A>
using Log = consort::Queue<Message, 16, A>;

// Two waiting programs on a busy machine: give the processor away.
struct Patient {
    static void relax() noexcept { ::sched_yield(); }
};

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(1);
}

Message message(std::uint32_t number) {
    const auto f = static_cast<float>(number);
    return {number,
            static_cast<double>(number) / 3,
            {f, -f, 0.5F * f},
            {{1.25F * f, f}, {f, 2.5F}},
            0x0123456789abcdefU ^ number,
            static_cast<std::int16_t>(-static_cast<std::int32_t>(number % 1000)),
            static_cast<Mode>(number % 3),
            number % 2 == 1};
}

bool same(const Message& a, const Message& b) {
    return a.number == b.number && a.angle == b.angle &&
           std::memcmp(a.setpoint, b.setpoint, sizeof(a.setpoint)) == 0 &&
           std::memcmp(a.gains, b.gains, sizeof(a.gains)) == 0 && a.time == b.time && a.trim == b.trim &&
           a.mode == b.mode && a.valid == b.valid;
}

void expect(bool good, const char* what, std::uint32_t number) {
    if (!good) {
        fail(std::string(what) + " " + std::to_string(number));
    }
}

void* map(const char* path, bool make) {
    const int fd = ::open(path, O_RDWR | (make ? O_CREAT : 0), 0600);
    if (fd < 0 || (make && ::ftruncate(fd, region_bytes) != 0)) {
        fail(std::string("cannot open ") + path);
    }
    void* base = ::mmap(nullptr, region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        fail(std::string("cannot map ") + path);
    }
    return base;
}

void make(void* memory) {
    using A = consort::access::Coherent;
    auto maker = consort::RegionMaker<A>::begin(memory, region_bytes, {}).value();
    if (!maker.add<Box<A>>("there").ok() || !maker.add<Box<A>>("back").ok() ||
        !maker.add<Latest<A>>("latest").ok() || !maker.add<Log<A>>("log").ok() || !maker.publish().ok()) {
        fail("cannot make the region");
    }
}

[[noreturn]] void refused(const consort::Refusal& refusal) {
    fail(std::string("refused: ") + to_string(refusal.reason));
}

template <class A>
struct Channels {
    explicit Channels(void* memory) : region(consort::Region<A>::attach(memory, region_bytes)) {
        if (!region.ok()) {
            refused(region.refusal());
        }
    }
    template <class C>
    typename C::Shared& open(const char* name) {
        auto found = region.value().template open<C>(name);
        if (!found.ok()) {
            refused(found.refusal());
        }
        return *found.value();
    }
    Result<consort::Region<A>> region;
};

template <class A>
void ping(void* memory, std::uint32_t messages) {
    Channels<A> channels(memory);
    consort::Duplex<Message, Message, A> duplex(channels.template open<Box<A>>("there"),
                                                channels.template open<Box<A>>("back"));
    typename Latest<A>::Writer latest(channels.template open<Latest<A>>("latest"));
    typename Log<A>::Reader log(channels.template open<Log<A>>("log"));
    std::uint32_t logged = 0;
    for (std::uint32_t i = 1; i <= messages; ++i) {
        latest.update(message(i));
        expect(duplex.template write<Patient>(message(i)) == Status::ok, "cannot send", i);
        Message got{};
        expect(duplex.template read<Patient>(got) == Status::ok, "no answer to", i);
        expect(same(got, message(i + 7)), "wrong answer to", i);
        Message batch[4];
        const std::uint32_t count = log.read_batch(batch, 4);
        for (std::uint32_t n = 0; n < count; ++n) {
            ++logged;
            expect(same(batch[n], message(logged)), "wrong log entry", logged);
        }
    }
    expect(logged == messages && log.overruns() == 0, "log entries lost after", logged);
}

template <class A>
void echo(void* memory, std::uint32_t messages) {
    Channels<A> channels(memory);
    consort::Duplex<Message, Message, A> duplex(channels.template open<Box<A>>("back"),
                                                channels.template open<Box<A>>("there"));
    typename Latest<A>::Reader latest(channels.template open<Latest<A>>("latest"), 0);
    typename Log<A>::Writer log(channels.template open<Log<A>>("log"));
    for (std::uint32_t i = 1; i <= messages; ++i) {
        Message got{};
        expect(duplex.template read<Patient>(got) == Status::ok, "no request", i);
        expect(same(got, message(i)), "wrong request", i);
        // Published before the request was sent, so it must be the one that is read now.
        expect(latest.read(got) == Status::ok && same(got, message(i)), "wrong snapshot", i);
        expect(log.try_write(message(i)) == Status::ok, "no room in the log for", i);
        expect(duplex.template write<Patient>(message(i + 7)) == Status::ok, "cannot answer", i);
    }
}

template <class A>
void run(const std::string& role, void* memory, std::uint32_t messages) {
    role == "ping" ? ping<A>(memory, messages) : echo<A>(memory, messages);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string role = argc > 2 ? argv[1] : "";
    // A peer that died must not leave this one waiting.
    ::alarm(60);
    if (role == "make" && argc == 3) {
        make(map(argv[2], true));
    } else if ((role == "ping" || role == "echo") && argc == 5) {
        void* memory = map(argv[2], false);
        const auto messages = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
        const std::string policy = argv[4];
        if (policy == "coherent") {
            run<consort::access::Coherent>(role, memory, messages);
        } else if (policy == "system-barrier") {
            run<consort::access::SystemBarrier>(role, memory, messages);
        } else if (policy == "device") {
            run<consort::access::Device>(role, memory, messages);
        } else {
            fail("no such policy: " + policy);
        }
    } else {
        fail("usage: peer make FILE | ping FILE N POLICY | echo FILE N POLICY");
    }
    return 0;
}
