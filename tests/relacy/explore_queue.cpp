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

// What does not fit is lost and counted: read + lost = written, and what is read stays in order.
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

}  // namespace

int main() {
    Report report;
    report.holds<OneByOne<3>>("Queue of 2, 3 values one by one", bounded(6));
    report.holds<OneByOne<5>>("Queue of 2, 5 values one by one (wraps twice)", bounded(3));
    report.holds<Batches>("Queue of 2, 4 values in batches of 2, losses counted", full);
    for (const Edge edge :
         {Edge::queue_publish, Edge::queue_observe, Edge::queue_release, Edge::queue_observe_release}) {
        report.found<OneByOne<5>>(edge, rl::mo_relaxed, random(100000));
    }
    return report.exit_code();
}
