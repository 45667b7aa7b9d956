// SPDX-License-Identifier: Apache-2.0
//
// Versions: the version that the release asks for, whole, or `overtaken`; and overtaken only where a writer
// came round (E12, E13).

#include "explore.hpp"

namespace {

using namespace consort;
using namespace consort::exploration;

struct Pair {
    std::uint32_t a, b;
};

// Version i counts from 10 i on.
constexpr Ticks instant(std::uint32_t i) {
    return 10 * Ticks{i};
}

// `First` versions are there before thread 0 publishes `More`; the others read as of version `Wanted` (0: as
// of before the first), `Reads` times each.
template <std::uint32_t K, std::uint32_t First, std::uint32_t More, std::uint32_t Wanted,
          std::uint32_t Readers = 1, std::uint32_t Reads = 1>
struct AsOf : rl::test_suite<AsOf<K, First, More, Wanted, Readers, Reads>, 1 + Readers> {
    using Channel = Versions<Pair, K, RelacyAccess>;
    static constexpr std::uint32_t all = First + More;
    Placed<typename Channel::Shared> shared;
    std::optional<typename Channel::Writer> writer;
    std::optional<typename Channel::Reader> readers[Readers];

    void publish(std::uint32_t i) { writer->publish({i, ~i}, instant(i)); }

    void before() {
        writer.emplace(shared.get());
        for (auto& reader : readers) {
            reader.emplace(shared.get());
        }
        for (std::uint32_t i = 1; i <= First; ++i) {
            publish(i);
        }
    }
    void thread(unsigned index) {
        if (index == 0) {
            for (std::uint32_t i = First + 1; i <= all; ++i) {
                publish(i);
            }
            return;
        }
        // Once a reader has seen a version, it sees no older one.
        std::uint64_t seen = 0;
        for (std::uint32_t read = 0; read < Reads; ++read) {
            Pair got{77, 77};
            const VersionRead answer = readers[index - 1]->read_as_of(got, instant(Wanted) + 5);
            if (answer.status == Status::ok) {
                check(got.b == ~got.a, "versions: whole");
                check(got.a == answer.sequence && answer.publication == instant(got.a),
                      "versions: the value of its stamp");
                check(got.a <= Wanted, "versions: published by the release");
                // Older than wanted only while the wanted one is not complete.
                check(got.a == Wanted || (Wanted > First && got.a >= First),
                      "versions: the newest that counts");
                check(got.a >= seen, "versions: never backwards");
                seen = got.a;
            } else {
                check(got.a == 77 && got.b == 77, "versions: without ok the value is untouched");
                check(answer.status == Status::overtaken || answer.status == Status::would_block,
                      "versions: the answers that a sound writer leaves");
                // The version looked at, Wanted or an older one, is overwritten by the K-th after it.
                const std::uint32_t oldest = Wanted < First ? Wanted : First;
                check(answer.status != Status::overtaken || (oldest == 0 ? 1 : oldest) + K <= all,
                      "versions: overtaken only where the writer came round");
                check(answer.status != Status::would_block || oldest == 0,
                      "versions: nothing there only before the first");
                check(answer.status != Status::would_block || seen == 0, "versions: never backwards");
            }
        }
    }
    void after() {
        Pair got{};
        const VersionRead last = readers[0]->read_as_of(got, instant(all));
        check(last.status == Status::ok && got.a == all, "versions: the last one arrives");
    }
};

// A writer is restarted while a reader reads: its successor's versions are as good as its own.
struct Restart : rl::test_suite<Restart, 2> {
    using Channel = Versions<std::uint32_t, 2, RelacyAccess>;
    Placed<Channel::Shared> shared;
    std::optional<Channel::Writer> writer;
    std::optional<Channel::Reader> reader;

    void before() {
        writer.emplace(shared.get());
        reader.emplace(shared.get());
        writer->publish(1, instant(1));
    }
    void thread(unsigned index) {
        if (index == 0) {
            for (std::uint32_t i = 2; i <= 3; ++i) {
                writer.emplace(shared.get());
                check(writer->sequence() == i - 1, "versions: numbers go on");
                writer->publish(i, instant(i));
            }
        } else {
            std::uint32_t got = 0;
            const VersionRead answer = reader->read_as_of(got, instant(2));
            check(answer.status == Status::ok ? got == answer.sequence && (got == 1 || got == 2)
                                              : answer.status == Status::overtaken,
                  "versions: the successor's as its predecessor's");
        }
    }
};

}  // namespace

int main() {
    Report report;
    report.holds<AsOf<2, 2, 1, 2>>("Versions<2>, the newest, while one more is written", full);
    report.holds<AsOf<2, 0, 1, 1>>("Versions<2>, the first one, while it is written", full);
    report.holds<AsOf<2, 2, 1, 1>>("Versions<2>, the one that is overwritten", bounded(3));
    report.holds<AsOf<3, 3, 1, 2>>("Versions<3>, one that stays, while one more is written", bounded(3));
    report.holds<AsOf<2, 1, 2, 0>>("Versions<2>, before the first, 2 written during a read", bounded(3));
    report.holds<AsOf<2, 1, 3, 2>>("Versions<2>, 3 written during a read", bounded(2));
    report.holds<AsOf<3, 2, 4, 3, 2, 2>>("Versions<3>, 4 written during 2 reads of 2 readers",
                                         random(100000));
    report.holds<Restart>("Versions<2>, the writer is restarted during a read", bounded(3));

    using Lap = AsOf<2, 2, 2, 2>;
    using New = AsOf<2, 0, 2, 1>;
    const auto weakened = random(300000);
    report.found<New>(SyncPoint::versions_publish, rl::mo_relaxed, weakened);
    report.found<New>(SyncPoint::versions_observe, rl::mo_relaxed, weakened);
    report.found<Lap>(SyncPoint::versions_overwrite, rl::mo_relaxed, weakened);
    report.found<Lap>(SyncPoint::versions_check, rl::mo_relaxed, weakened);
    return report.exit_code();
}
