// SPDX-License-Identifier: Apache-2.0
//
// The executive compiles for bare cores, with memory of a fixed size.
#include "consort/app/executive.hpp"
#include "consort/app/mode_change.hpp"
#include "consort/app/plan.hpp"
#include "consort/app/serve.hpp"

namespace {

using namespace consort::app;

constexpr std::uint32_t tasks = 4;
Request requests[tasks];

// What every core has.
template <class Task>
struct Port : Executive<Port<Task>, Task> {
    Time now() const noexcept { return instant; }
    Time begin() const noexcept { return instant; }
    void arm(Time at) noexcept { armed = at; }
    void disarm() noexcept { armed = never; }
    void prepare(Task&) noexcept {}
    bool execute(Task&, Time) noexcept { return true; }
    void skip(Task&) noexcept {}
    Time until() const noexcept { return never; }
    void stop() noexcept {}
    void settle() noexcept {}
    void enable() noexcept {}
    void disable() noexcept {}
    // Where jobs leave the core.
    static bool leaves(const Task&) noexcept { return true; }
    void depart(Task&, Time) noexcept {}
    void left() noexcept {}
    static bool answered(const Task&) noexcept { return false; }
    static Time give_up(const Task&) noexcept { return never; }

    Time instant = 0;
    Time armed = never;
};
using Strict = Task<ReleasesBy<const plan::Task*, ReleaseForms{false, false, false}>, false>;
using Any = Task<Releases, true>;
static_assert(ExecutivePort<Port<Strict>, Strict> && ExecutivePort<Port<Any>, Any>);
Strict strict_tasks[tasks];
Any any_tasks[tasks];

template <class Task>
void run(Port<Task>& core, Task* of) noexcept {
    core.start(of, tasks, plan::Policy::edf, 0);
    while (core.busy()) {
        core.dispatch();
    }
}

}  // namespace

extern "C" void strict_interrupt(Port<Strict>& core) {
    core.timer();
    core.dispatch();
}

extern "C" void any_interrupt(Port<Any>& core) {
    core.timer();
    core.dispatch();
}

extern "C" void strict_core(Port<Strict>& core) {
    run(core, strict_tasks);
}

extern "C" void any_core(Port<Any>& core) {
    run(core, any_tasks);
}

extern "C" bool request_mode(std::uint32_t to, Time now) {
    static ModeChange change(0, 5);
    const bool ends = change.request(to, now);
    if (change.stage() == ModeChange::Stage::draining) {
        change.drained(now);
    }
    return ends;
}

extern "C" Time serve() {
    Requests queue(requests, false);
    queue.arrive({0, 0, 1, 5});
    return queue.take().execution;
}

extern "C" Time period_of(const std::byte* image, std::size_t bytes) {
    plan::Image of;
    return plan::Image::open(image, bytes, 0, of) == plan::Refused::no ? of.task(0, 0).period : 0;
}
