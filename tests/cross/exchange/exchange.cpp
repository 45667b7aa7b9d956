// SPDX-License-Identifier: Apache-2.0
//
// exchange make|attach|probe FILE COUNT: one of two processes, built for any instruction set, that talk
// through a region in a shared file. `make` makes the region and asks COUNT questions; `attach` answers them;
// `probe` only tries to open. Exit: 0 all contents right, 1 a wrong content or status, 3 refused (and why, on
// stdout), 4 the peer did not come.

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "consort/icc.hpp"

// The test builds peers with one of these changed, which the other side must refuse.
#ifndef EXCHANGE_REAL
#define EXCHANGE_REAL double
#endif

namespace {

// No fixed underlying type: -fshort-enums makes it one byte.
enum Phase { idle, running, stopping };

// What i386 does to a double: it stands at offset 4 instead of 8. (GCC expands no macro in this pragma.)
#ifdef EXCHANGE_PACK_4
#pragma pack(push, 4)
#endif
struct Question {
    std::uint32_t number;
    EXCHANGE_REAL angle;
    float setpoint[3];
    std::uint64_t time;
    Phase phase;
    std::int16_t trim;
};
struct Answer {
    std::uint32_t number;
    EXCHANGE_REAL torque;
    std::uint64_t time;
    Phase phase;
};
#ifdef EXCHANGE_PACK_4
#pragma pack(pop)
#endif

constexpr std::size_t region_bytes = 65536;
constexpr consort::Ticks second = 1000000000;
constexpr consort::Ticks patience = 15 * second;

struct Host {
    static consort::Ticks now() noexcept {
        timespec time{};
        clock_gettime(CLOCK_MONOTONIC, &time);
        return static_cast<consort::Ticks>(time.tv_sec) * second + static_cast<consort::Ticks>(time.tv_nsec);
    }
    static consort::Ticks ticks_per_second() noexcept { return second; }
    // The peer may need this very processor.
    static void relax() noexcept {
        consort::isa::relax();
        sched_yield();
    }
    static void clean(const void*, std::size_t) noexcept {}
    static void invalidate(const void*, std::size_t) noexcept {}
    static std::uint32_t core_id() noexcept { return static_cast<std::uint32_t>(getpid()); }
};

using There = consort::Mailbox<Question>;
using Back = consort::Mailbox<Answer>;

// All values are small integers or halves, exact in every floating-point unit.
Question question(std::uint32_t n) {
    Question q{};
    q.number = n;
    q.angle = static_cast<EXCHANGE_REAL>(n % 1000) / 2;
    for (std::uint32_t i = 0; i < 3; ++i) {
        q.setpoint[i] = static_cast<float>(n % 100 + i);
    }
    q.time = 0x0102030405060708U * (n + 1U);
    q.trim = static_cast<std::int16_t>(-static_cast<int>(n % 30000));
    q.phase = static_cast<Phase>(n % 3);
    return q;
}

bool same(const Question& a, const Question& b) {
    return a.number == b.number && a.angle == b.angle && a.setpoint[0] == b.setpoint[0] &&
           a.setpoint[1] == b.setpoint[1] && a.setpoint[2] == b.setpoint[2] && a.time == b.time &&
           a.trim == b.trim && a.phase == b.phase;
}

Answer answer(const Question& q) {
    Answer a{};
    a.number = q.number;
    a.torque = q.angle + static_cast<EXCHANGE_REAL>(q.trim) + static_cast<EXCHANGE_REAL>(q.setpoint[1]);
    a.time = ~q.time;
    a.phase = static_cast<Phase>((q.phase + 1) % 3);
    return a;
}

bool same(const Answer& a, const Answer& b) {
    return a.number == b.number && a.torque == b.torque && a.time == b.time && a.phase == b.phase;
}

int fail(const char* what, std::uint32_t n, consort::Status status) {
    std::printf("%s %u: %s\n", what, static_cast<unsigned>(n), consort::to_string(status));
    return status == consort::Status::timeout ? 4 : 1;
}

int refused(const char* what, const consort::Refusal& refusal) {
    std::printf("%s: %s: member '%.*s' %s, expected %u, found %u\n", what, consort::to_string(refusal.reason),
                static_cast<int>(refusal.member.length), refusal.member.text, refusal.aspect,
                static_cast<unsigned>(refusal.expected), static_cast<unsigned>(refusal.found));
    return 3;
}

int ask(There::Shared& there, Back::Shared& back, std::uint32_t count) {
    consort::Duplex<Question, Answer> side(there, back);
    for (std::uint32_t n = 0; n < count; ++n) {
        const Question q = question(n);
        auto status = side.write_until<Host>(q, Host::now() + patience);
        if (status != consort::Status::ok) {
            return fail("question", n, status);
        }
        Answer got{};
        status = side.read_until<Host>(got, Host::now() + patience);
        if (status != consort::Status::ok || !same(got, answer(q))) {
            return fail("answer", n, status);
        }
    }
    std::printf("asked %u\n", static_cast<unsigned>(count));
    return 0;
}

int reply(There::Shared& there, Back::Shared& back, std::uint32_t count) {
    consort::Duplex<Answer, Question> side(back, there);
    for (std::uint32_t n = 0; n < count; ++n) {
        Question got{};
        auto status = side.read_until<Host>(got, Host::now() + patience);
        if (status != consort::Status::ok || !same(got, question(n))) {
            return fail("question", n, status);
        }
        status = side.write_until<Host>(answer(got), Host::now() + patience);
        if (status != consort::Status::ok) {
            return fail("answer", n, status);
        }
    }
    std::printf("answered %u\n", static_cast<unsigned>(count));
    return 0;
}

int make(void* memory, std::uint32_t count) {
    auto maker = consort::RegionMaker<>::begin(memory, region_bytes, {Host::core_id(), 4, 64});
    if (!maker.ok()) {
        return refused("make", maker.refusal());
    }
    const auto there = maker.value().add<There>("there");
    const auto back = maker.value().add<Back>("back");
    if (!there.ok() || !back.ok()) {
        return refused("add", there.ok() ? back.refusal() : there.refusal());
    }
    const auto region = maker.value().publish();
    if (!region.ok()) {
        return refused("publish", region.refusal());
    }
    return ask(*there.value(), *back.value(), count);
}

int attach(void* memory, bool talk, std::uint32_t count) {
    const consort::Ticks deadline = Host::now() + patience;
    auto region = consort::Region<>::attach(memory, region_bytes);
    const auto unfinished = [&] {
        const auto reason = region.refusal().reason;
        return reason == consort::Reason::not_ready || reason == consort::Reason::not_a_region;
    };
    while (talk && unfinished() && Host::now() < deadline) {
        usleep(1000);
        region = consort::Region<>::attach(memory, region_bytes);
    }
    if (!region.ok()) {
        return refused("attach", region.refusal());
    }
    const auto there = region.value().open<There>("there");
    if (!there.ok()) {
        return refused("open there", there.refusal());
    }
    const auto back = region.value().open<Back>("back");
    if (!back.ok()) {
        return refused("open back", back.refusal());
    }
    return talk ? reply(*there.value(), *back.value(), count) : 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: exchange make|attach|probe FILE COUNT\n");
        return 2;
    }
    const int file = open(argv[2], O_RDWR);
    void* memory =
        file < 0 ? MAP_FAILED : mmap(nullptr, region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        std::perror(argv[2]);
        return 2;
    }
    const auto count = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
    return std::strcmp(argv[1], "make") == 0 ? make(memory, count)
                                             : attach(memory, std::strcmp(argv[1], "attach") == 0, count);
}
