// SPDX-License-Identifier: Apache-2.0
//
// The executive compiles for bare cores, with memory of a fixed size.
#include "consort/app/executive.hpp"
#include "consort/app/mode_change.hpp"
#include "consort/app/periodic.hpp"
#include "consort/app/plan.hpp"
#include "consort/app/serve.hpp"

namespace {

using namespace consort::app;

struct Port {
    Time now() const noexcept { return instant; }
    void arm(Time at) noexcept { timer = at; }
    void begin(Frame&) noexcept {}
    void execute(Frame&, Phase, Time) noexcept {}
    void wait(Frame&) noexcept {}
    void send(std::uint32_t, const JobTimes&) noexcept {}
    void begun(std::uint32_t, const JobTimes&) noexcept {}
    void finished(std::uint32_t, const JobTimes&) noexcept {}
    Time until() const noexcept { return never; }
    void stop() noexcept {}
    void settle() noexcept {}
    void enable() noexcept {}
    void disable() noexcept {}

    Time instant = 0;
    Time timer = never;
};
static_assert(ExecutivePort<Port>);
static_assert(DispatchHost<Executive<Port>>);

constexpr std::uint32_t tasks = 4;
Port port;
Executive<Port> executive(port);
Executive<Port>::State states[tasks];
Frame* frames[tasks];
Executive<Port>::Dispatching::Cell ready[tasks];
Executive<Port>::Timers::Cell releases[tasks];
Executive<Port>::Timers::Cell waits[2 * tasks];
Request requests[tasks];

using Strict = PeriodicTask<ReleasesBy<const plan::Task*, ReleaseForms{false, false, false}>>;
class PeriodicCore : public PeriodicExecutive<PeriodicCore, Strict> {
  public:
    Time now() const noexcept { return instant; }
    Time begin() const noexcept { return instant; }
    void arm(Time at) noexcept { armed = at; }
    void disarm() noexcept { armed = never; }
    void prepare(Strict&) noexcept {}
    bool execute(Strict&, Time) noexcept { return true; }
    void skip(Strict&) noexcept {}
    Time until() const noexcept { return never; }
    bool stopped() const noexcept { return false; }
    void stop() noexcept {}
    void settle() noexcept {}
    void enable() noexcept {}
    void disable() noexcept {}

  private:
    Time instant = 0;
    Time armed = never;
};
static_assert(PeriodicPort<PeriodicCore, Strict>);
Strict periodic_tasks[tasks];

}  // namespace

extern "C" void periodic_interrupt(PeriodicCore& core) {
    core.timer();
    core.dispatch();
}

extern "C" void periodic_core(PeriodicCore& core) {
    core.start(periodic_tasks, tasks, Dispatch::edf, 0);
    while (core.busy()) {
        core.dispatch();
    }
}

extern "C" void timer_interrupt() {
    executive.timer();
    executive.dispatcher().dispatch();
}

extern "C" void answer_interrupt(std::uint32_t task, std::uint32_t seq) {
    executive.answer(task, seq);
    executive.dispatcher().dispatch();
}

extern "C" void core() {
    executive.start(tasks, {}, {states, frames, ready, releases, waits});
    for (;;) {
        executive.dispatcher().dispatch();
    }
}

extern "C" bool request_mode(std::uint32_t to) {
    static ModeChange change(0, 5);
    const bool ends = change.request(to, port.now());
    if (ends) {
        executive.withhold();
    }
    if (change.stage() == ModeChange::Stage::draining && executive.idle()) {
        change.drained(port.now());
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
