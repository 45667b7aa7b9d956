// SPDX-License-Identifier: Apache-2.0
//
// ClockExchange: the reference reads its clock after who asked, and who asked gets whole what it read (E18,
// E19).

#include "consort/icc/clock_exchange.hpp"
#include "explore.hpp"

namespace {

using namespace consort;
using namespace consort::exploration;

// The asker leaves each question's number in plain memory first; the answer is made of it, both halves. What
// is asked after the first end has another answer.
struct Questions : rl::test_suite<Questions, 2> {
    using Exchange = ClockExchange<RelacyAccess>;
    static constexpr Ticks begins = 0x1234567890;
    Placed<typename Exchange::Shared> shared;
    rl::var<std::uint32_t> asked;

    static rl::debug_info here() { return rl::debug_info("asked"); }
    static bool wait() {
        Yield::relax();
        return true;
    }
    static Ticks made_of(std::uint32_t n) { return (Ticks{~n} << 32U) | n; }

    void before() { asked(here()) = 0; }
    void thread(unsigned index) {
        if (index == 0) {
            Exchange::Asker asker(shared.get());
            Ticks answer = 0;
            asked(here()) = 1;
            check(asker.ask(answer, wait) && answer == made_of(1),
                  "clocks: the answer to what was asked, whole");
            asker.done();
            check(asker.ask(answer, wait) && answer == begins, "clocks: after its end, the other answer");
            asker.done();
        } else {
            Exchange::Reference reference(shared.get());
            for (std::uint32_t ends = 1; ends <= 2;) {
                const bool waits = reference.asked();
                if (reference.done() >= ends) {
                    ++ends;
                } else if (waits) {
                    reference.answer(ends == 1 ? made_of(asked(here())) : begins);
                }
                Yield::relax();
            }
        }
    }
};

}  // namespace

int main() {
    Report report;
    report.holds<Questions>("ClockExchange", bounded(3));
    report.found<Questions>(SyncPoint::clock_ask, rl::mo_relaxed, bounded(3));
    report.found<Questions>(SyncPoint::clock_hear, rl::mo_relaxed, bounded(3));
    report.found<Questions>(SyncPoint::clock_answer, rl::mo_relaxed, bounded(3));
    report.found<Questions>(SyncPoint::clock_take, rl::mo_relaxed, bounded(3));
    return report.exit_code();
}
