// SPDX-License-Identifier: Apache-2.0
//
// Relacy's engine, for all explorations.
#include "explore.hpp"

namespace consort::exploration {

namespace {

// What Relacy explores: the test that `make` makes.
template <rl::thread_id_t Threads>
struct Suite : rl::test_suite<Suite<Threads>, Threads> {
    inline static Make make = nullptr;
    alignas(std::max_align_t) std::byte memory[most_test_bytes];
    AnyTest* test = make(memory);

    ~Suite() { test->~AnyTest(); }
    void before() { test->before(); }
    void thread(unsigned index) { test->thread(index); }
    void after() { test->after(); }
    void invariant() { test->invariant(); }
};

}  // namespace

template <rl::thread_id_t Threads>
void simulate(Make make, rl::test_params& parameters) {
    Suite<Threads>::make = make;
    rl::simulate<Suite<Threads>>(parameters);
}

template void simulate<2>(Make make, rl::test_params& parameters);
template void simulate<3>(Make make, rl::test_params& parameters);

}  // namespace consort::exploration
