// SPDX-License-Identifier: Apache-2.0
//
// One side of an exchange between two instruction sets, over a region in a shared file:
//
//   peer make FILE POLICY       makes the region in a file of the right size
//   peer ping FILE POLICY N     sends N requests, checks every answer, publishes snapshots and versions,
//                               reads the log
//   peer echo FILE POLICY N     answers them, checks every snapshot and version, writes the log
//
// POLICY is coherent, system-barrier, device, whole-lines or non-coherent. Exit status 1: the content was
// wrong, or the region was refused.

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
using Call = consort::Duplex<Message, Message, A>;
// One line for both directions, where lines are shared.
template <class A>
using Count = consort::Duplex<std::uint64_t, std::uint32_t, A>;
template <class A>
using Box = consort::Mailbox<Message, A>;
template <class A>
using LatestNumber = consort::Snapshot<std::uint64_t, 1, A>;
template <class A>
using Latest = consort::Snapshot<Message, 1, A>;
template <class A>
using Log = consort::Queue<Message, 16, A>;
template <class A>
using Let = consort::Versions<Message, 3, A>;

// Instants that need more than 32 bits.
constexpr consort::Ticks instant(std::uint32_t number) {
    return (consort::Ticks{1} << 40U) + number;
}

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

template <class A>
void make(void* memory) {
    auto maker = consort::RegionMaker<A>::begin(memory, region_bytes, {}).value();
    if (!maker.template add<Call<A>>("call").ok() || !maker.template add<Count<A>>("count").ok() ||
        !maker.template add<Box<A>>("box").ok() || !maker.template add<Latest<A>>("latest").ok() ||
        !maker.template add<LatestNumber<A>>("latest-number").ok() ||
        !maker.template add<Log<A>>("log").ok() || !maker.template add<Let<A>>("let").ok() ||
        !maker.publish().ok()) {
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

// A peer that died must not leave this one waiting. Counted from the last message: a busy machine is not
// dead.
void still_here() {
    ::alarm(60);
}

template <class A>
void ping(void* memory, std::uint32_t messages) {
    Channels<A> channels(memory);
    typename Call<A>::Client call(channels.template open<Call<A>>("call"));
    typename Count<A>::Client count(channels.template open<Count<A>>("count"));
    typename Box<A>::Writer box(channels.template open<Box<A>>("box"));
    typename LatestNumber<A>::Writer number(channels.template open<LatestNumber<A>>("latest-number"));
    typename Latest<A>::Writer latest(channels.template open<Latest<A>>("latest"));
    typename Let<A>::Writer let(channels.template open<Let<A>>("let"));
    typename Log<A>::Reader log(channels.template open<Log<A>>("log"));
    std::uint32_t logged = 0;
    for (std::uint32_t i = 1; i <= messages; ++i) {
        still_here();
        latest.update(message(i));
        let.publish(message(i), instant(i));
        number.update(0x100000000U + i);
        expect(box.template write<Patient>(message(i + 3)) == Status::ok, "no room in the box for", i);
        expect(call.template write<Patient>(message(i)) == Status::ok, "cannot send", i);
        Message got{};
        expect(call.template read<Patient>(got) == Status::ok, "no answer to", i);
        expect(same(got, message(i + 7)), "wrong answer to", i);
        std::uint32_t low = 0;
        expect(count.template write<Patient>(0x100000000U + i) == Status::ok, "cannot count", i);
        expect(count.template read<Patient>(low) == Status::ok && low == i, "wrong count of", i);
        Message batch[4];
        const std::uint32_t entries = log.read_batch(batch, 4);
        for (std::uint32_t n = 0; n < entries; ++n) {
            ++logged;
            expect(same(batch[n], message(logged)), "wrong log entry", logged);
        }
    }
    expect(logged == messages && log.overruns() == 0, "log entries lost after", logged);
}

template <class A>
void echo(void* memory, std::uint32_t messages) {
    Channels<A> channels(memory);
    typename Call<A>::Server call(channels.template open<Call<A>>("call"));
    typename Count<A>::Server count(channels.template open<Count<A>>("count"));
    typename Box<A>::Reader box(channels.template open<Box<A>>("box"));
    typename LatestNumber<A>::Reader number(channels.template open<LatestNumber<A>>("latest-number"), 0);
    typename Latest<A>::Reader latest(channels.template open<Latest<A>>("latest"), 0);
    typename Let<A>::Reader let(channels.template open<Let<A>>("let"));
    typename Log<A>::Writer log(channels.template open<Log<A>>("log"));
    for (std::uint32_t i = 1; i <= messages; ++i) {
        still_here();
        Message got{};
        expect(call.template read<Patient>(got) == Status::ok, "no request", i);
        expect(same(got, message(i)), "wrong request", i);
        expect(box.try_read(got) == Status::ok && same(got, message(i + 3)), "wrong message in the box", i);
        // Published before the request was sent, so it must be the one that is read now.
        expect(latest.read(got) == Status::ok && same(got, message(i)), "wrong snapshot", i);
        // This one and the last two are kept until the answer is sent.
        for (std::uint32_t back = 0; back < 3 && back < i; ++back) {
            const consort::VersionRead read = let.read_as_of(got, instant(i - back));
            expect(read.status == Status::ok && read.sequence == i - back &&
                       read.publication == instant(i - back) && same(got, message(i - back)),
                   "wrong version", i - back);
        }
        expect(log.try_write(message(i)) == Status::ok, "no room in the log for", i);
        std::uint64_t wide = 0;
        expect(number.read(wide) == Status::ok && wide == 0x100000000U + i, "wrong small snapshot", i);
        expect(call.template write<Patient>(message(i + 7)) == Status::ok, "cannot answer", i);
        expect(count.template read<Patient>(wide) == Status::ok && wide == 0x100000000U + i, "wrong count",
               i);
        expect(count.template write<Patient>(static_cast<std::uint32_t>(wide)) == Status::ok,
               "cannot answer the count", i);
    }
}

// Cache operations that have nothing to do here: what is tested is the layout for sides that need them.
struct Cached {
    static consort::Ticks now() noexcept { return 0; }
    static consort::Ticks ticks_per_second() noexcept { return 1; }
    static void relax() noexcept {}
    static void clean(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static void invalidate(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static std::uint32_t core_id() noexcept { return 0; }
};

template <class A>
void run(const std::string& role, void* memory, std::uint32_t messages) {
    if (role == "make") {
        make<A>(memory);
    } else if (role == "ping") {
        ping<A>(memory, messages);
    } else {
        echo<A>(memory, messages);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string role = argc > 3 ? argv[1] : "";
    still_here();
    const bool maker = role == "make" && argc == 4;
    if (!maker && !((role == "ping" || role == "echo") && argc == 5)) {
        fail("usage: peer make FILE POLICY | ping FILE POLICY N | echo FILE POLICY N");
    }
    void* memory = map(argv[2], maker);
    const auto messages = maker ? 0 : static_cast<std::uint32_t>(std::strtoul(argv[4], nullptr, 10));
    const std::string policy = argv[3];
    if (policy == "coherent") {
        run<consort::access::Coherent>(role, memory, messages);
    } else if (policy == "system-barrier") {
        run<consort::access::SystemBarrier>(role, memory, messages);
    } else if (policy == "device") {
        run<consort::access::Device>(role, memory, messages);
    } else if (policy == "whole-lines") {
        run<consort::access::WholeLines<consort::access::Coherent>>(role, memory, messages);
    } else if (policy == "non-coherent") {
        run<consort::access::NonCoherent<Cached>>(role, memory, messages);
    } else {
        fail("no such policy: " + policy);
    }
    return 0;
}
