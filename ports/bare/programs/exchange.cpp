// SPDX-License-Identifier: Apache-2.0
//
// Messages of 0 to 1024 bytes between two processors, their content checked on both sides.
//
// A region holds a duplex for every size; one side asks, the other answers. Both know from a
// message's number which size it has and what must be in it. Role: bits, see `role` below; 0 = nothing to do.
// Arguments: 0 memory (0 the window, 1 on-chip), 1 offset, 2 bytes, 3 messages, 4 the message whose content
// is spoiled (0 none), 5 offset in the window of the asker's log of round trips, 6 its capacity. Results: 0
// messages, 1 sum of the words asked, 2 sum of the words answered, 3 ticks per second, 4 log entries.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "consort/bare/program.hpp"
#include "consort/icc.hpp"

namespace {

using namespace consort::bare;
using consort::Status;
// With its length: a plain literal would need strlen.
using namespace std::string_view_literals;

namespace role {
constexpr std::uint32_t make = 1;   // makes the region; else waits for it and attaches
constexpr std::uint32_t ask = 2;    // asks; else answers
constexpr std::uint32_t probe = 4;  // only attaches and opens; a refusal is the result
constexpr std::uint32_t work = 8;   // set in every role but "nothing to do"
}  // namespace role

// Changes of a type by a defective build or another compiler, for the test of refusals.
#ifdef EXCHANGE_PLAIN_ENUM
enum Mode { off, hold, track };
#else
enum class Mode : std::uint8_t { off, hold, track };
#endif
struct Typed {
    std::uint32_t number;
    double angle;
    Mode mode;
    std::uint16_t trim;
};

template <std::uint32_t N>
struct Payload {
    std::uint8_t bytes[N];
};
template <>
struct Payload<0> {};

// The words of a message: the same on every processor.
struct Words {
    std::uint32_t state;
    std::uint32_t next() noexcept {
        state ^= state << 13U;
        state ^= state >> 17U;
        state ^= state << 5U;
        return state;
    }
};

constexpr std::uint32_t sizes = 11;

// Which size message `number` has: unpredictable enough that all follow upon all.
std::uint32_t index_of(std::uint32_t number) noexcept {
    return ((number * 2654435761U) >> 16U) % sizes;
}

// Fills `size` bytes and returns the sum of their words. One function for all sizes: what is timed is the
// mailbox, and a copy of everything else for each size and policy would only keep the compiler busy.
[[gnu::noinline]] std::uint32_t fill_bytes(std::uint8_t* bytes, std::uint32_t size, std::uint32_t number,
                                           std::uint32_t direction) noexcept {
    std::uint32_t sum = 0;
    Words words{(number * 2 + direction) * 2654435761U | 1U};
    for (std::uint32_t at = 0; at < size; at += 4) {
        std::uint32_t word = words.next();
        if (size < 4) {
            word &= 0xffU;
        }
        sum += word;
        word = consort::wire(word);
        __builtin_memcpy(bytes + at, &word, size < 4 ? size : 4);
    }
    return sum;
}

template <std::uint32_t N>
std::uint32_t fill(Payload<N>& payload, std::uint32_t number, std::uint32_t direction) noexcept {
    if constexpr (N > 0) {
        return fill_bytes(payload.bytes, N, number, direction);
    }
    return 0;
}

template <std::uint32_t N>
bool equal(const Payload<N>& a, const Payload<N>& b) noexcept {
    if constexpr (N > 0) {
        return __builtin_memcmp(a.bytes, b.bytes, N) == 0;
    }
    return true;
}

struct Exchange {
    ControlBlock& block;
    std::uint32_t asked = 0;
    std::uint32_t answered = 0;
    std::uint32_t spoiled = 0;
    consort::Ticks trip = 0;

    // Tries until it is done, or the host says stop.
    template <class F>
    Status until_done(F&& attempt) noexcept {
        for (std::uint32_t turn = 1;; ++turn) {
            const Status status = attempt();
            if (status != Status::would_block) {
                return status;
            }
            ThisPort::relax();
            if (turn % 65536 == 0 && block.stop_requested()) {
                return Status::timeout;
            }
        }
    }
};

enum class Outcome : std::uint8_t { good, wrong_content, stopped, peer_fault };

Outcome outcome(Status status) noexcept {
    return status == Status::ok        ? Outcome::good
           : status == Status::timeout ? Outcome::stopped
                                       : Outcome::peer_fault;
}

template <class A, std::uint32_t... N>
struct Chain {
    using Refusal = consort::Refusal;
    static Refusal make(consort::RegionMaker<A>& /*maker*/) noexcept { return {}; }
    Refusal open(const consort::Region<A>& /*region*/, bool /*ask*/) noexcept { return {}; }
    Outcome ask(Exchange& /*exchange*/, std::uint32_t /*index*/, std::uint32_t /*number*/) noexcept {
        return Outcome::peer_fault;
    }
    Outcome answer(Exchange& /*exchange*/, std::uint32_t /*index*/, std::uint32_t /*number*/) noexcept {
        return Outcome::peer_fault;
    }
};

template <class A, std::uint32_t N, std::uint32_t... Rest>
struct Chain<A, N, Rest...> {
    using Refusal = consort::Refusal;
    using Duplex = consort::Duplex<Payload<N>, Payload<N>, A>;
    using Client = typename Duplex::Client;
    using Server = typename Duplex::Server;

    static Text<16> name() noexcept { return Text<16>().add("mail-").number(N); }

    [[gnu::noinline]] static Refusal make(consort::RegionMaker<A>& maker) noexcept {
        const auto added = maker.template add<Duplex>(name().view());
        if (!added.ok()) {
            return added.refusal();
        }
        return Chain<A, Rest...>::make(maker);
    }

    [[gnu::noinline]] Refusal open(const consort::Region<A>& region, bool ask) noexcept {
        const auto found = region.template open<Duplex>(name().view());
        if (!found.ok()) {
            return found.refusal();
        }
        if (ask) {
            client.emplace(*found.value());
        } else {
            server.emplace(*found.value());
        }
        return rest.open(region, ask);
    }

    [[gnu::noinline]] Outcome ask(Exchange& exchange, std::uint32_t index, std::uint32_t number) noexcept {
        if (index > 0) {
            return rest.ask(exchange, index - 1, number);
        }
        Payload<N> question;
        Payload<N> expected;
        Payload<N> got;
        exchange.asked += fill(question, number, 0);
        exchange.answered += fill(expected, number, 1);
        if constexpr (N > 0) {
            question.bytes[N - 1] ^= number == exchange.spoiled ? 0x40U : 0U;
        }
        const consort::Ticks begin = consort::timestamp<ThisPort>();
        Status status = exchange.until_done([&] { return client->try_write(question); });
        if (status == Status::ok) {
            status = exchange.until_done([&] { return client->try_read(got); });
        }
        exchange.trip = consort::timestamp<ThisPort>() - begin;
        if (status != Status::ok) {
            return outcome(status);
        }
        return equal(got, expected) ? Outcome::good : Outcome::wrong_content;
    }

    [[gnu::noinline]] Outcome answer(Exchange& exchange, std::uint32_t index, std::uint32_t number) noexcept {
        if (index > 0) {
            return rest.answer(exchange, index - 1, number);
        }
        Payload<N> expected;
        Payload<N> reply;
        Payload<N> got;
        exchange.asked += fill(expected, number, 0);
        exchange.answered += fill(reply, number, 1);
        Status status = exchange.until_done([&] { return server->try_read(got); });
        if (status != Status::ok) {
            return outcome(status);
        }
        if (!equal(got, expected)) {
            return Outcome::wrong_content;
        }
        status = exchange.until_done([&] { return server->try_write(reply); });
        return outcome(status);
    }

    std::optional<Client> client;
    std::optional<Server> server;
    Chain<A, Rest...> rest;
};

#ifdef EXCHANGE_PROBE
// Only attached and opened: what is compiled for a refusal.
template <class A>
using AllSizes = Chain<A, 0, 8>;
#else
template <class A>
using AllSizes = Chain<A, 0, 1, 4, 8, 16, 48, 64, 128, 256, 512, 1024>;
#endif

// The policy of access: one a build.
#if defined(EXCHANGE_DEVICE)
using Access = consort::access::Device;
#elif defined(EXCHANGE_NON_COHERENT)
using Access = consort::access::NonCoherent<ThisPort>;
#elif defined(EXCHANGE_WHOLE_LINES)
using Access = consort::access::WholeLines<consort::access::SystemBarrier>;
#else
using Access = consort::access::SystemBarrier;
#endif

int refused(ControlBlock& block, const consort::Refusal& refusal) noexcept {
    Text<ControlBlock::text_bytes> text;
    text.add("refused: ").add(to_string(refusal.reason));
    if (refusal.reason == consort::Reason::wrong_layout) {
        text.add("; ").add(refusal.aspect).add(" of ");
        text.add(refusal.member.view().data(), refusal.member.view().size());
        text.add(": expected ").number(refusal.expected).add(", found ").number(refusal.found);
    }
    return fail(block, text.c_str());
}

template <class A>
using TypedBox = consort::Mailbox<Typed, A>;

template <class A>
consort::Refusal make(unsigned char* memory, std::uint32_t bytes) noexcept {
    auto maker = consort::RegionMaker<A>::begin(memory, bytes, {ThisPort::core_id(), 32, 64});
    if (!maker.ok()) {
        return maker.refusal();
    }
    if (const auto typed = maker.value().template add<TypedBox<A>>("typed"sv); !typed.ok()) {
        return typed.refusal();
    }
    if (const auto refusal = AllSizes<A>::make(maker.value()); refusal.reason != consort::Reason::none) {
        return refusal;
    }
    return maker.value().publish().refusal();
}

template <class A>
int exchange(ControlBlock& block) noexcept {
    const std::uint32_t todo = block.role();
    unsigned char* memory = (block.argument(0) == 0 ? window() : on_chip());
    if (memory == nullptr) {
        return fail(block, "this core has no on-chip memory to share");
    }
    memory += block.argument(1);
    const std::uint32_t bytes = block.argument(2);
    const std::uint32_t messages = block.argument(3);
    const bool ask = (todo & role::ask) != 0;
    Exchange exchange{block};
    exchange.spoiled = block.argument(4);
    auto* log = reinterpret_cast<volatile std::uint32_t*>(window() + block.argument(5));
    const std::uint32_t log_capacity = block.argument(6);

    if ((todo & role::make) != 0) {
        if (const auto refusal = make<A>(memory, bytes); refusal.reason != consort::Reason::none) {
            return refused(block, refusal);
        }
    }
    auto region = consort::Region<A>::attach(memory, bytes);
    using consort::Reason;
    while (
        !region.ok() && !block.stop_requested() &&
        (region.refusal().reason == Reason::not_ready || region.refusal().reason == Reason::not_a_region)) {
        ThisPort::relax();
        region = consort::Region<A>::attach(memory, bytes);
    }
    if (!region.ok()) {
        return refused(block, region.refusal());
    }
    if (const auto typed = region.value().template open<TypedBox<A>>("typed"sv); !typed.ok()) {
        return refused(block, typed.refusal());
    }
    static AllSizes<A> mail;
    if (const auto refusal = mail.open(region.value(), ask); refusal.reason != consort::Reason::none) {
        return refused(block, refusal);
    }
    block.result(3, static_cast<std::uint32_t>(ThisPort::ticks_per_second()));
    if ((todo & role::probe) != 0) {
        return 0;
    }
    for (std::uint32_t n = 1; n <= messages; ++n) {
        const std::uint32_t index = index_of(n);
        const Outcome got = ask ? mail.ask(exchange, index, n) : mail.answer(exchange, index, n);
        if (got != Outcome::good) {
            const char* what = got == Outcome::wrong_content ? "wrong content"
                               : got == Outcome::stopped     ? "stopped waiting"
                                                             : "peer fault";
            return fail(block, Text<64>().add(what).add(" at message ").number(n).c_str());
        }
        if (ask && n <= log_capacity) {
            log[n - 1] = consort::wire(static_cast<std::uint32_t>(exchange.trip));
        }
        block.progress(n);
    }
    block.result(0, messages);
    block.result(1, exchange.asked);
    block.result(2, exchange.answered);
    block.result(4, messages < log_capacity ? messages : log_capacity);
    return 0;
}

}  // namespace

int consort_program(ControlBlock& block) noexcept {
    if (block.role() == 0) {
        return 0;
    }
    return exchange<Access>(block);
}
