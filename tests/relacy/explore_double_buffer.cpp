// SPDX-License-Identifier: Apache-2.0
//
// DoubleBuffer: safe while one update falls into a read, torn when two do, as the paper says (E5).

#include "explore.hpp"

namespace {

using namespace consort;
using namespace consort::exploration;

struct Pair {
    std::uint32_t a, b;
};

template <std::uint32_t Updates>
struct Sporadic : rl::test_suite<Sporadic<Updates>, 2> {
    using Buffer = DoubleBuffer<Pair, RelacyAccess>;
    Placed<typename Buffer::Shared> shared;
    std::optional<typename Buffer::Writer> writer;

    void before() {
        writer.emplace(shared.get());
        writer->update({1, ~1U});
    }
    void thread(unsigned index) {
        if (index == 0) {
            for (std::uint32_t i = 2; i < 2 + Updates; ++i) {
                writer->update({i, ~i});
            }
        } else {
            Pair got{};
            check(typename Buffer::Reader(shared.get()).read_latest(got) == Status::ok,
                  "double buffer: read answers ok");
            check(got.b == ~got.a && got.a >= 1 && got.a <= 1 + Updates, "double buffer: whole");
        }
    }
};

}  // namespace

int main() {
    Report report;
    report.holds<Sporadic<1>>("DoubleBuffer, one update during a read", full);
    report.fails<Sporadic<2>>("DoubleBuffer, two updates during a read", full, rl::test_result_data_race);
    report.found<Sporadic<1>>(SyncPoint::buffer_publish, rl::mo_relaxed, full);
    report.found<Sporadic<1>>(SyncPoint::buffer_observe, rl::mo_relaxed, full);
    return report.exit_code();
}
