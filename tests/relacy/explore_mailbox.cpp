// SPDX-License-Identifier: Apache-2.0
//
// Mailbox and Duplex: every interleaving and every value that the C++ memory model lets a load see (E1, E2).
// Relacy has no lines: the layouts with shared lines and with lines of one writer are the same to it, so each
// protocol is explored once.

#include "explore.hpp"

namespace {

using namespace consort;
using namespace consort::exploration;

struct Pair {
    std::uint32_t a, b;
};
Pair value_of(std::uint32_t i, Pair) {
    return {i, ~i};
}
std::uint32_t value_of(std::uint32_t i, std::uint32_t) {
    return i;
}
bool is(std::uint32_t i, Pair got) {
    return got.a == i && got.b == ~i;
}
bool is(std::uint32_t i, std::uint32_t got) {
    return got == i;
}

template <class T, std::uint32_t Messages, std::uint32_t Slots = 1>
struct OneWay : rl::test_suite<OneWay<T, Messages, Slots>, 2> {
    using Box = Mailbox<T, RelacyAccess, Slots>;
    Placed<typename Box::Shared> shared;
    std::optional<typename Box::Writer> writer;
    std::optional<typename Box::Reader> reader;

    void before() {
        writer.emplace(shared.get());
        reader.emplace(shared.get());
    }
    void thread(unsigned index) {
        for (std::uint32_t i = 1; i <= Messages; ++i) {
            T value{};
            if (index == 0) {
                value = value_of(i, value);
                check(writer->template write<Yield>(value) == Status::ok, "mailbox: write answers ok");
            } else {
                check(reader->template read<Yield>(value) == Status::ok, "mailbox: read answers ok");
                check(is(i, value), "mailbox: each message once, in order, whole");
            }
        }
    }
};

// The mutant: a writer that copies ahead into the only place there is.
template <class Lines>
struct OnePlaceOfTwo : consort::detail::MailboxPlaces<Lines, 2> {
    static auto& payload(Lines& shared, std::uint32_t) noexcept { return shared.payload.at(0); }
};

struct CopiedAhead : rl::test_suite<CopiedAhead, 2> {
    using Lines = Mailbox<Pair, RelacyAccess, 2>::Shared;
    using Writer = consort::detail::Sender<Pair, RelacyAccess, OnePlaceOfTwo<Lines>>;
    using Reader = consort::detail::Receiver<Pair, RelacyAccess, OnePlaceOfTwo<Lines>>;
    Placed<Lines> shared;
    std::optional<Writer> writer;
    std::optional<Reader> reader;

    void before() {
        writer.emplace(shared.get());
        reader.emplace(shared.get(), Resume::redeliver);
    }
    void thread(unsigned index) {
        for (std::uint32_t i = 1; i <= 2; ++i) {
            Pair value = value_of(i, Pair{});
            if (index == 0) {
                check(writer->write<Yield>(value) == Status::ok, "mailbox: write answers ok");
            } else {
                check(reader->read<Yield>(value) == Status::ok, "mailbox: read answers ok");
                check(is(i, value), "mailbox: each message once, in order, whole");
            }
        }
    }
};

// A word for each message, to keep the full search of round trips small.
struct RoundTrips : rl::test_suite<RoundTrips, 2> {
    using Call = Duplex<std::uint32_t, std::uint32_t, RelacyAccess>;
    static constexpr std::uint32_t trips = 2;
    Placed<Call::Shared> shared;
    std::optional<Call::Client> master;
    std::optional<Call::Server> worker;

    void before() {
        master.emplace(shared.get());
        worker.emplace(shared.get());
    }
    void thread(unsigned index) {
        for (std::uint32_t i = 1; i <= trips; ++i) {
            std::uint32_t got = 0;
            if (index == 0) {
                check(master->try_write(i) == Status::ok, "duplex: the acknowledgement came with the answer");
                check(master->read<Yield>(got) == Status::ok, "duplex: response answers ok");
                check(got == 100 + i, "duplex: the response belongs to its request");
            } else {
                check(worker->read<Yield>(got) == Status::ok, "duplex: worker's read answers ok");
                check(got == i, "duplex: each request once, in order");
                check(worker->try_write(100 + got) == Status::ok,
                      "duplex: the acknowledgement came with the request");
            }
        }
    }
};

// A master that does not wait for answers: both directions under way at once.
struct BothWays : rl::test_suite<BothWays, 2> {
    using Call = Duplex<std::uint32_t, std::uint32_t, RelacyAccess>;
    static constexpr std::uint32_t messages = 2;
    Placed<Call::Shared> shared;
    std::optional<Call::Client> client;
    std::optional<Call::Server> server;

    void before() {
        client.emplace(shared.get());
        server.emplace(shared.get());
    }
    template <class Side>
    static void run(Side& side) {
        for (std::uint32_t i = 1; i <= messages; ++i) {
            check(side.template write<Yield>(i) == Status::ok, "duplex: write answers ok");
            std::uint32_t got = 0;
            check(side.template read<Yield>(got) == Status::ok && got == i,
                  "duplex: each message once, in order");
        }
    }
    void thread(unsigned index) { index == 0 ? run(*client) : run(*server); }
};

}  // namespace

int main() {
    Report report;
    report.holds<OneWay<std::uint32_t, 2>>("Mailbox, 2 messages of one word", full);
    report.holds<OneWay<std::uint32_t, 3>>("Mailbox, 3 messages of one word", bounded(5));
    report.holds<OneWay<Pair, 3>>("Mailbox, 3 messages of two words", bounded(4));
    report.holds<OneWay<std::uint32_t, 3, 2>>("Mailbox with two places, 3 messages of one word", bounded(5));
    report.holds<OneWay<Pair, 4, 2>>("Mailbox with two places, 4 messages of two words", bounded(3));
    report.fails<CopiedAhead>("Mailbox with one place, copied into ahead", random(100000),
                              rl::test_result_data_race);
    report.holds<RoundTrips>("Duplex, 2 round trips", bounded(4));
    report.holds<BothWays>("Duplex, 2 messages each way at once", bounded(4));
    for (const SyncPoint point : {SyncPoint::mailbox_publish, SyncPoint::mailbox_observe,
                                  SyncPoint::mailbox_acknowledge, SyncPoint::mailbox_observe_acknowledge}) {
        report.found<OneWay<Pair, 3>>(point, rl::mo_relaxed, random(100000));
        report.found<OneWay<Pair, 4, 2>>(point, rl::mo_relaxed, random(100000));
        report.found<BothWays>(point, rl::mo_relaxed, random(100000));
    }
    report.found<RoundTrips>(SyncPoint::mailbox_publish, rl::mo_relaxed, random(100000));
    report.found<RoundTrips>(SyncPoint::mailbox_observe, rl::mo_relaxed, random(100000));
    return report.exit_code();
}
