// SPDX-License-Identifier: Apache-2.0
//
// Queue: the ring of two, filled past its end, one by one and in batches (E3, E4).

#include "explore.hpp"

namespace {

using namespace consort;
using namespace consort::exploration;

template <std::uint32_t Values>
struct OneByOne : rl::test_suite<OneByOne<Values>, 2> {
    using Ring = Queue<std::uint32_t, 2, RelacyAccess>;
    Placed<typename Ring::Shared> shared;
    std::optional<typename Ring::Writer> writer;
    std::optional<typename Ring::Reader> reader;

    void before() {
        writer.emplace(shared.get());
        reader.emplace(shared.get());
    }
    void thread(unsigned index) {
        for (std::uint32_t i = 1; i <= Values; ++i) {
            if (index == 0) {
                check(writer->template write<Yield>(i) == Status::ok, "queue: write answers ok");
            } else {
                std::uint32_t got = 0;
                check(reader->template read<Yield>(got) == Status::ok, "queue: read answers ok");
                check(got == i, "queue: each value once, in order");
            }
        }
    }
};

// A message without room is lost and counted: read + lost = written, and messages stay in order.
struct Batches : rl::test_suite<Batches, 2> {
    using Ring = Queue<std::uint32_t, 2, RelacyAccess>;
    static constexpr std::uint32_t values = 4;
    Placed<Ring::Shared> shared;
    std::optional<Ring::Writer> writer;
    std::optional<Ring::Reader> reader;
    std::uint32_t read = 0;
    std::uint32_t last = 0;

    void before() {
        writer.emplace(shared.get());
        reader.emplace(shared.get());
    }
    void take() {
        std::uint32_t got[2] = {};
        const std::uint32_t count = reader->read_batch(got, 2);
        check(count <= 2, "queue: a batch is at most what was asked for");
        for (std::uint32_t i = 0; i < count; ++i) {
            check(got[i] > last && got[i] <= values, "queue: batches keep the order");
            last = got[i];
        }
        read += count;
    }
    void thread(unsigned index) {
        if (index == 0) {
            for (std::uint32_t first = 1; first <= values; first += 2) {
                const std::uint32_t pair[2] = {first, first + 1};
                static_cast<void>(writer->write_batch(pair, 2));
            }
        } else {
            take();
            take();
        }
    }
    void after() {
        take();
        check(read + writer->overruns() == values, "queue: read and lost make up all written");
        check(reader->overruns() == writer->overruns(), "queue: both sides count the same losses");
    }
};

// A batch shows at once: who sees its first message can read all of it.
struct AtOnce : rl::test_suite<AtOnce, 2> {
    using Ring = Queue<std::uint32_t, 4, RelacyAccess>;
    static constexpr std::uint32_t values = 3;
    Placed<Ring::Shared> shared;
    std::optional<Ring::Writer> writer;
    std::optional<Ring::Reader> reader;

    void before() {
        writer.emplace(shared.get());
        reader.emplace(shared.get());
    }
    void thread(unsigned index) {
        if (index == 0) {
            const std::uint32_t batch[values] = {1, 2, 3};
            check(writer->write_batch(batch, values) == values, "queue: an empty ring takes the batch");
        } else {
            std::uint32_t got[values] = {};
            const std::uint32_t count = reader->read_batch(got, values);
            check(count == 0 || count == values, "queue: a batch shows at once");
            check(count == 0 || (got[0] == 1 && got[1] == 2 && got[2] == 3), "queue: batches keep the order");
        }
    }
};

// A ring of 8 releases its slots two at a time.
struct Quarters : rl::test_suite<Quarters, 2> {
    using Ring = Queue<std::uint32_t, 8, RelacyAccess>;
    static constexpr std::uint32_t values = 18;
    Placed<Ring::Shared> shared;
    std::optional<Ring::Writer> writer;
    std::optional<Ring::Reader> reader;

    void before() {
        writer.emplace(shared.get());
        reader.emplace(shared.get());
    }
    void thread(unsigned index) {
        for (std::uint32_t i = 1; i <= values; ++i) {
            if (index == 0) {
                check(writer->write<Yield>(i) == Status::ok, "queue: write answers ok");
            } else {
                std::uint32_t got = 0;
                check(reader->read<Yield>(got) == Status::ok && got == i, "queue: each value once, in order");
            }
        }
    }
};

// A producer died in the middle of a batch of two: the second message is in its slot, the first is not. Its
// successor writes both slots anew, and the consumer must not get what the dead one left.
struct Takeover : rl::test_suite<Takeover, 2> {
    using Ring = Queue<std::uint32_t, 2, RelacyAccess>;
    Placed<Ring::Shared> shared;
    std::optional<Ring::Reader> reader;

    void before() {
        auto& slot = shared.get().slots.at[1];
        slot.element.put(99);
        RelacyAccess::store<SyncPoint::queue_publish>(slot.sequence, 2);
        reader.emplace(shared.get());
    }
    void thread(unsigned index) {
        if (index == 0) {
            Ring::Writer writer(shared.get());
            check(writer.try_write(1) == Status::ok && writer.try_write(2) == Status::ok,
                  "queue: a successor finds the ring empty");
        } else {
            for (std::uint32_t i = 1; i <= 2; ++i) {
                std::uint32_t got = 0;
                check(reader->read<Yield>(got) == Status::ok && got == i,
                      "queue: nothing of a batch that was never published");
            }
        }
    }
};

}  // namespace

int main() {
    Report report;
    report.holds<OneByOne<3>>("Queue of 2, 3 values one by one", bounded(6));
    report.holds<OneByOne<5>>("Queue of 2, 5 values one by one (wraps twice)", bounded(3));
    report.holds<Batches>("Queue of 2, 4 values in batches of 2, losses counted", full);
    report.holds<AtOnce>("Queue of 4, a batch of 3 on the empty ring", full);
    report.holds<Quarters>("Queue of 8, 18 values, released two at a time", random(100000));
    report.holds<Takeover>("Queue of 2, after a producer's death in a batch", bounded(4));
    for (const SyncPoint point : {SyncPoint::queue_publish, SyncPoint::queue_observe,
                                  SyncPoint::queue_release, SyncPoint::queue_observe_release}) {
        report.found<OneByOne<5>>(point, rl::mo_relaxed, random(100000));
    }
    return report.exit_code();
}
