// SPDX-License-Identifier: Apache-2.0
//
// An accelerator's server and four clients, each a process: one behaves, one floods and takes no answer, one
// asks for too much and for what it may not have, one is killed again and again while it is served.
//
//   misbehaving fixed-priority|tdma|budget DEATHS [unprotected]
//
// Time is the server's count: an operation takes its cost, a look that finds nothing takes 1. So what a
// request waits does not depend on the machine. Exit status 0: each request of the client that behaves was
// served, as it ought to be, within the bound of docs/explanation/analyses.md (theorems 33 to 35); 1: not so,
// which is said; 2: wrong arguments. With `unprotected` that client is the least urgent, and the floods take
// no notice of budgets: under fixed priorities its requests are late then, which shows that the program would
// see it.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "consort/accel.hpp"

namespace {

using namespace consort::accel;
using consort::Status;
using consort::Ticks;

constexpr std::uint32_t behaves = 0;
constexpr std::uint32_t dies = 1;
constexpr std::uint32_t asks_too_much = 2;
constexpr std::uint32_t floods = 3;
constexpr std::uint32_t clients = 4;

struct Block {
    std::uint32_t words[16];
};
using Box = Mail<Block, Block>;

constexpr Operation operations[2] = {{10, sizeof(Block)}, {40, sizeof(Block) / 2}};
constexpr Ticks own_cost = 10;
constexpr Ticks longest = 40;
constexpr Ticks round_of_slots = 4 * 50;
constexpr Ticks budget_period = 400;

struct Shared {
    Box::Shared boxes[clients];
    alignas(64) std::atomic<Ticks> time{0};
    alignas(64) std::atomic<std::uint32_t> begun{0};   // operations of the client that dies
    alignas(64) std::atomic<std::uint32_t> deaths{0};  // of the client that dies
    alignas(64) std::atomic<bool> stop{false};
    alignas(64) std::atomic<std::uint32_t> requests{0};  // of the client that behaves
    std::atomic<Ticks> longest_wait{0};
    std::atomic<bool> wrong{false};
    std::atomic<std::uint32_t> served[clients];
    std::atomic<std::uint32_t> refused[clients];
};

Shared* shared = nullptr;

// Whoever waits sleeps: on a machine that has much else to do those who only yield are passed over.
void let_others_run() noexcept {
    const timespec moment{0, 20000};
    nanosleep(&moment, nullptr);
}

struct ServerPort {
    static Ticks now() noexcept { return shared->time.load(std::memory_order_relaxed); }
    static Ticks ticks_per_second() noexcept { return 1; }
    static void relax() noexcept { let_others_run(); }
    static void clean(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static void invalidate(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static std::uint32_t core_id() noexcept { return 0; }
};

struct Rules {
    Arbitration rule;
    ClientRule of[clients];
    Ticks bound;
};

Rules rules_of(Arbitration rule, bool unprotected) {
    Rules made{rule, {}, 0};
    for (std::uint32_t i = 0; i < clients; ++i) {
        Share& share = made.of[i].share;
        share.rank = i;
        share.slot_from = 50 * i;
        share.slot = 50;
        share.budget = i == behaves ? budget_period : longest;
        share.period = budget_period;
        made.of[i].operations = i == behaves ? 0b01 : 0b11;
    }
    switch (rule) {
        case Arbitration::fixed_priority:
            made.bound = longest;
            break;
        case Arbitration::tdma:
            made.bound = round_of_slots - 50 + own_cost;
            break;
        case Arbitration::budget:
            // All others are more urgent. From when it may begin at most two of their budgets pass, since the
            // bound is not longer than a period.
            made.of[behaves].share.rank = clients;
            made.bound = 3 * 2 * longest;
            break;
    }
    if (unprotected) {
        made.rule = rule == Arbitration::tdma ? Arbitration::fixed_priority : rule;
        made.of[behaves].share.rank = clients;
        for (std::uint32_t i = 1; i < clients; ++i) {
            made.of[i].share.budget = budget_period;
        }
    }
    return made;
}

[[noreturn]] void serve(const Rules& rules) {
    Server<Block, Block, ServerPort, clients, 2> server(
        rules.rule, round_of_slots, 0, operations, rules.of,
        {&shared->boxes[0], &shared->boxes[1], &shared->boxes[2], &shared->boxes[3]});
    std::uint32_t idle = 0;
    while (!shared->stop.load(std::memory_order_relaxed)) {
        Ticks took = longest;  // a refusal is charged as the longest operation
        const std::uint32_t client =
            server.poll([&](std::uint32_t operation, const Block& in, std::uint32_t, Block& out) {
                took = operations[operation].cost;
                out.words[0] = ~in.words[0];
                const Ticks begun = ServerPort::now();
                std::memcpy(&out.words[2], &begun, sizeof(begun));
                if (in.words[1] == dies) {
                    // It is dead before the operation ends.
                    const std::uint32_t number = ++shared->begun;
                    while (shared->deaths.load() != number && !shared->stop.load()) {
                        let_others_run();
                    }
                }
            });
        if (client == nobody) {
            took = 1;
            if (++idle % 16 == 0) {
                let_others_run();
            }
        }
        shared->time.store(ServerPort::now() + took, std::memory_order_relaxed);
        // Before the next look: who asked earlier by this clock is seen then.
        consort::isa::system_barrier();
    }
    for (std::uint32_t i = 0; i < clients; ++i) {
        shared->served[i] = server.counts(i).served;
        shared->refused[i] = server.counts(i).refused;
    }
    _exit(0);
}

[[noreturn]] void behave(Arbitration rule) {
    Box::Client side(shared->boxes[behaves]);
    // A question before a server is there is void, and this client would wait for its answer for ever.
    while (side.peer_epoch() == 0 && !shared->stop.load(std::memory_order_relaxed)) {
        let_others_run();
    }
    for (std::uint32_t n = 1; !shared->stop.load(std::memory_order_relaxed); ++n) {
        Request<Block> request{n, 0, sizeof(Block), {}};
        request.in.words[0] = n * 2654435761U;
        request.in.words[1] = behaves;
        Response<Block> response{};
        if (side.try_write(request) != Status::ok) {
            shared->wrong = true;
            break;
        }
        // From when the request is there for the server to see, not in a store buffer.
        consort::isa::system_barrier();
        const Ticks asked = ServerPort::now();
        Status status = Status::would_block;
        while ((status = side.try_read(response)) == Status::would_block) {
            if (shared->stop.load(std::memory_order_relaxed)) {
                _exit(0);
            }
            let_others_run();
        }
        Ticks begun = 0;
        std::memcpy(&begun, &response.out.words[2], sizeof(begun));
        if (status != Status::ok || response.sequence != n ||
            static_cast<Answer>(response.answer) != Answer::served ||
            response.out.words[0] != ~request.in.words[0]) {
            shared->wrong = true;
            break;
        }
        const Ticks wait = begun > asked ? begun - asked : 0;
        if (wait > shared->longest_wait.load()) {
            shared->longest_wait = wait;
        }
        shared->requests = n;
        // Requests come at all places of a round and of a period.
        const Ticks within = rule == Arbitration::fixed_priority ? 1 : 2 * budget_period;
        for (const Ticks until = ServerPort::now() + n * 7919U % within;
             ServerPort::now() < until && !shared->stop.load(std::memory_order_relaxed);) {
            let_others_run();
        }
    }
    _exit(0);
}

[[noreturn]] void misbehave(std::uint32_t self) {
    Box::Client side(shared->boxes[self], consort::Resume::discard);
    for (std::uint32_t n = side.sequence() + 1;; ++n) {
        Request<Block> request{n, 1, sizeof(Block) / 2, {}};
        request.in.words[1] = self;
        if (self == asks_too_much) {
            request.operation = n % 3 == 0 ? 77 : 1;
            request.size = n % 2 == 0 ? ~0U : sizeof(Block);
        }
        Response<Block> response{};
        // A flooding client takes an answer now and then, or it would be served once.
        while (side.try_write(request) != Status::ok) {
            static_cast<void>(side.try_read(response));
            let_others_run();
        }
        if (self == dies || n % 2 == 0) {
            static_cast<void>(side.try_read(response));
        }
    }
}

template <class Body>
pid_t start(Body&& body) {
    const pid_t child = fork();
    if (child < 0) {
        // Nothing may be killed by the number that stands for all processes.
        std::perror("fork");
        shared->stop = true;
        std::exit(3);
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        body();
    }
    return child;
}

void end(pid_t child, int signal) {
    if (child <= 0) {
        std::abort();
    }
    kill(child, signal);
    waitpid(child, nullptr, 0);
}

}  // namespace

int main(int argc, char** argv) {
    Arbitration rule = Arbitration::fixed_priority;
    const bool unprotected = argc == 4 && std::strcmp(argv[3], "unprotected") == 0;
    const long deaths = argc >= 3 ? std::strtol(argv[2], nullptr, 10) : 0;
    const bool known =
        argc >= 3 && (std::strcmp(argv[1], "fixed-priority") == 0 || std::strcmp(argv[1], "tdma") == 0 ||
                      std::strcmp(argv[1], "budget") == 0);
    if (!known || deaths <= 0 || (argc != 3 && !unprotected)) {
        std::fprintf(stderr, "misbehaving fixed-priority|tdma|budget DEATHS [unprotected]\n");
        return 2;
    }
    rule = argv[1][0] == 't'   ? Arbitration::tdma
           : argv[1][0] == 'b' ? Arbitration::budget
                               : Arbitration::fixed_priority;
    const Rules rules = rules_of(rule, unprotected);
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("mmap");
        return 3;
    }
    shared = new (memory) Shared{};

    const pid_t victim = start([&] { behave(rule); });
    const pid_t flood = start([] { misbehave(floods); });
    const pid_t too_much = start([] { misbehave(asks_too_much); });
    pid_t mortal = start([] { misbehave(dies); });
    // The server comes last, as it does where the machine has much else to do: each client is there, and
    // those that do not wait for it have asked.
    for (const std::uint32_t client : {dies, asks_too_much, floods}) {
        while (shared->boxes[client].client.sequence.load() == 0) {
            let_others_run();
        }
    }
    while (shared->boxes[behaves].client_epoch().load() == 0) {
        let_others_run();
    }
    const pid_t server = start([&] { serve(rules); });
    long killed = 0;
    const auto enough = [&] { return shared->requests >= static_cast<std::uint32_t>(deaths); };
    // A wrong answer, or a starved client, ends the wait early.
    const auto starved = [&] { return unprotected && shared->time.load() > 50 * budget_period; };
    while ((killed < deaths || !enough()) && !shared->wrong && !starved()) {
        if (shared->begun.load() != shared->deaths.load()) {
            end(mortal, SIGKILL);
            ++killed;
            mortal = start([] { misbehave(dies); });
            ++shared->deaths;
        }
        let_others_run();
    }
    shared->stop = true;
    waitpid(victim, nullptr, 0);
    waitpid(server, nullptr, 0);
    for (const pid_t child : {flood, too_much, mortal}) {
        end(child, SIGKILL);
    }
    const Ticks wait = shared->longest_wait;
    std::printf("%s: %" PRIu32 " requests, the longest wait %" PRIu64 " of at most %" PRIu64
                "; %ld clients killed while served; served %u %u %u %u, refused %u %u %u %u\n",
                argv[1], shared->requests.load(), wait, rules.bound, killed, shared->served[0].load(),
                shared->served[1].load(), shared->served[2].load(), shared->served[3].load(),
                shared->refused[0].load(), shared->refused[1].load(), shared->refused[2].load(),
                shared->refused[3].load());
    if (shared->wrong) {
        std::printf("an answer was wrong, or a request found no room\n");
        return 1;
    }
    if (wait > rules.bound || !enough()) {
        std::printf("the client that behaves waited longer than it may\n");
        return 1;
    }
    return 0;
}
