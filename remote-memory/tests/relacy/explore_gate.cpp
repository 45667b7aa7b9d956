// SPDX-License-Identifier: Apache-2.0
//
// The end of a remote segment whose pages stay: settle against the evicting thread, and against a thread that
// uses the home. Each order of the gate, weakened, loses the page or the home under a thread's hands.
#include "../../pager/gate.hpp"
#include "explore.hpp"

namespace {

using namespace consort::exploration;

enum class Order { come, go, is_closed, has_any, close, none };

// The orders of the gate, but that `weak` is relaxed.
template <Order weak>
struct Words {
    using Word = rl::atomic<std::uint32_t>;

    static constexpr rl::memory_order order(Order of, rl::memory_order as) {
        return of == weak ? rl::mo_relaxed : as;
    }
    static void come(Word& inside) {
        inside.fetch_add(1, order(Order::come, rl::mo_seq_cst), rl::debug_info("come"));
    }
    static void go(Word& inside) {
        inside.fetch_sub(1, order(Order::go, rl::mo_release), rl::debug_info("go"));
    }
    static bool is_closed(const Word& closed) {
        return closed.load(order(Order::is_closed, rl::mo_seq_cst), rl::debug_info("is closed")) != 0;
    }
    static bool has_any(const Word& inside) {
        return inside.load(order(Order::has_any, rl::mo_seq_cst), rl::debug_info("has any")) != 0;
    }
    static void close(Word& closed) {
        closed.store(1, order(Order::close, rl::mo_seq_cst), rl::debug_info("close"));
    }
    static void open(Word& closed) { closed.store(0, rl::mo_release, rl::debug_info("open")); }
};

constexpr std::uint32_t away = 0;
constexpr std::uint32_t busy = 1;
constexpr std::uint32_t resident = 2;

// Thread 0 evicts a page, thread 1 settles, thread 2 uses the home (discards, counts).
template <Order weak>
struct Settle : rl::test_suite<Settle<weak>, 3> {
    consort::remote::BasicGate<Words<weak>> evicting;
    consort::remote::BasicGate<Words<weak>> using_home;
    rl::atomic<std::uint32_t> word{resident};
    rl::var<std::uint32_t> here;
    rl::var<std::uint32_t> home;
    rl::var<std::uint32_t> transport;

    static rl::debug_info at(const char* what) { return rl::debug_info(what); }

    void before() {
        here(at("here")) = 7;
        home(at("home")) = 0;
        transport(at("transport")) = 1;
    }
    bool claim(std::uint32_t from) {
        return word.compare_exchange_strong(from, busy, rl::mo_acq_rel, at("claim"));
    }
    void evict() {
        if (!evicting.enter()) {
            return;
        }
        if (claim(resident)) {
            home(at("home")) = std::uint32_t{here(at("here"))};
            here(at("here")) = 0;
            word.store(away, rl::mo_release, at("evicted"));
        }
        evicting.leave();
    }
    void settle() {
        evicting.close([] { Yield::relax(); });
        while (word.load(rl::mo_acquire, at("sweep")) != resident) {
            if (claim(away)) {
                here(at("here")) = std::uint32_t{home(at("home"))};
                word.store(resident, rl::mo_release, at("brought"));
            }
            Yield::relax();
        }
        using_home.close([] { Yield::relax(); });
        check(std::uint32_t{here(at("here"))} == 7, "settle: the page is here");
        transport(at("transport")) = 0;
    }
    void thread(unsigned index) {
        if (index == 0) {
            evict();
        } else if (index == 1) {
            settle();
        } else if (using_home.enter()) {
            check(std::uint32_t{transport(at("transport"))} == 1,
                  "settle: the home is attached while it is used");
            using_home.leave();
        }
    }
    void after() { check(std::uint32_t{here(at("here"))} == 7, "settle: the page stays"); }
};

}  // namespace

int main() {
    Report report;
    report.holds<Settle<Order::none>>("settle, one page", bounded(4));
    report.fails<Settle<Order::come>>("settle, come relaxed", bounded(4), rl::test_result_data_race);
    report.fails<Settle<Order::go>>("settle, go relaxed", bounded(4), rl::test_result_data_race);
    report.fails<Settle<Order::is_closed>>("settle, is_closed relaxed", bounded(4),
                                           rl::test_result_data_race);
    report.fails<Settle<Order::has_any>>("settle, has_any relaxed", bounded(4), rl::test_result_data_race);
    report.fails<Settle<Order::close>>("settle, close relaxed", bounded(4), rl::test_result_data_race);
    return report.exit_code();
}
