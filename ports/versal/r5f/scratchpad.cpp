// SPDX-License-Identifier: Apache-2.0
//
// The scratchpad-centric kernel on the R5F: I/O core and time master.
#include "consort/versal/scratchpad.hpp"

#include <cstdint>

#include "application_dma.hpp"
#include "consort/bare/program.hpp"
#include "consort/spm/io_core.hpp"
#include "consort/versal/kernel_tables.hpp"
#include "devices.hpp"

namespace {

using namespace consort;
using namespace consort::versal::scratchpad;
using consort::bare::ThisPort;
using consort::spm::DmaState;

// A task of the plan in this run.
struct Served {
    const app::plan::Task* plan;
    const Given* given;
    Summary* summary;
    std::uint32_t loads;
    std::uint32_t unloads;
};

class Board {
  public:
    explicit Board(const Tables& tables) noexcept : tables_(&tables) {}

    void dma_start(const spm::Transfer& transfer) noexcept {
        const std::uint32_t n = transfers_++;
        const FaultRow* fault = fault_of(n);
        const auto what = fault != nullptr ? static_cast<Injected>(fault->what) : Injected{};
        dma_.start(transfer, what == Injected::dma_silence, instant_, lasting_);
        if (what == Injected::dma_error) {
            dma_.disturb();
        } else if (what == Injected::io_core_sleeps) {
            sleep_ = fault->length;
        }
    }
    DmaState dma_state() noexcept { return dma_.poll(instant_); }
    bool dma_abort() noexcept { return dma_.abort(); }
    const std::byte* inputs(std::uint32_t core, std::uint32_t task) noexcept {
        if (const std::byte* messages = io_ != nullptr ? io_->inputs(core, task) : nullptr) {
            return messages;
        }
        Served& t = task_[core][task];
        return t.given->inputs == 0
                   ? nullptr
                   : in_window<const std::byte>(t.given->inputs_at) +
                         t.loads++ % t.given->input_rows * spm::aligned_part(t.given->inputs);
    }
    std::byte* outputs(std::uint32_t core, std::uint32_t task) noexcept {
        if (std::byte* messages = io_ != nullptr ? io_->outputs(core, task) : nullptr) {
            return messages;
        }
        Served& t = task_[core][task];
        return t.given->outputs == 0
                   ? nullptr
                   : in_window<std::byte>(t.given->outputs_at) +
                         t.unloads % t.given->output_rows * spm::aligned_part(t.given->outputs);
    }
    void delivered(std::uint32_t core, std::uint32_t task) noexcept {
        ++task_[core][task].unloads;
        if (io_ != nullptr) {
            io_->delivered(core, task);
        }
    }
    void stop_job(std::uint32_t core, std::uint32_t task, std::uint32_t job) noexcept {
        Access::store<SyncPoint::queue_release>(on_chip_shared().control[core].io.stop,
                                                job_number(task, job));
    }
    void record(const spm::Event& event) noexcept {
        const auto kind = static_cast<std::uint32_t>(event.kind);
        ++counts_[kind];
        if (event.kind == spm::Kind::load_begin || event.kind == spm::Kind::unload_begin) {
            const app::plan::Task& row = *task_[event.core][event.task].plan;
            lasting_ = static_cast<Ticks>(event.kind == spm::Kind::load_begin ? row.load : row.unload);
        }
        if (event.kind == spm::Kind::load_end) {
            Control::IoLine& io = on_chip_shared().control[event.core].io;
            const std::uint32_t n = handed_[event.core]++ % 4;
            Access::store<SyncPoint::own>(io.ready_low[n], static_cast<std::uint32_t>(boundary_));
            Access::store<SyncPoint::own>(io.ready_high[n], static_cast<std::uint32_t>(boundary_ >> 32U));
        }
        if (event.kind == spm::Kind::slot_wasted) {
            return;
        }
        if (events_ < tables_->events) {
            in_window<EventRow>(tables_->events_at)[events_] = {since_start(event.at), kind, event.core,
                                                                event.task, event.job};
        }
        ++events_;
    }
    void finished(const spm::JobRecord& j) noexcept {
        if (jobs_ < tables_->jobs) {
            in_window<JobRow>(tables_->jobs_at)[jobs_] = {since_start(j.release),
                                                          since_start(j.load),
                                                          since_start(j.ready),
                                                          since_start(j.start),
                                                          since_start(j.finish),
                                                          since_start(j.unload),
                                                          since_start(j.end),
                                                          j.core,
                                                          j.task,
                                                          j.job,
                                                          static_cast<std::uint32_t>(j.outcome)};
        }
        ++jobs_;
        Served& t = task_[j.core][j.task];
        Summary& s = *t.summary;
        const Ticks response = j.end - j.release;
        const Ticks execution = j.finish - j.start;
        s.response = response > s.response ? response : s.response;
        s.execution = execution > s.execution ? execution : s.execution;
        ++s.jobs;
        s.late += response > static_cast<Ticks>(t.plan->deadline) ? 1 : 0;
        s.not_done += j.outcome == spm::Outcome::done ? 0 : 1;
        s.last = j.job;
    }

    // --- around the kernel

    void add(std::uint32_t core, std::uint32_t task, const app::plan::Task& plan, const Given& given,
             Summary& summary) noexcept {
        task_[core][task] = {&plan, &given, &summary, 0, 0};
    }
    void attach(Devices::Subsystem& io) noexcept { io_ = &io; }
    void begin(Ticks start) noexcept { start_ = start; }
    // An operation that ends has ended then, however late the I/O core looks: at the next slot's begin, or in
    // turns at the instant of the kernel's step.
    void boundary(Ticks at) noexcept { boundary_ = at; }
    // The time of the kernel's next step. Operations whose length is given end by it.
    void instant(Ticks at) noexcept { instant_ = at; }
    [[nodiscard]] Ticks operation_end() noexcept { return dma_.end(); }
    [[nodiscard]] std::uint32_t events() const noexcept { return events_; }
    [[nodiscard]] std::uint32_t jobs() const noexcept { return jobs_; }
    [[nodiscard]] std::uint32_t count(spm::Kind kind) const noexcept {
        return counts_[static_cast<std::uint32_t>(kind)];
    }
    void report() const noexcept {
        for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(spm::Kind::count); ++i) {
            in_window<std::uint32_t>(tables_->counts_at)[i] = counts_[i];
        }
    }
    [[nodiscard]] Ticks take_sleep() noexcept {
        const Ticks length = sleep_;
        sleep_ = 0;
        return length;
    }

  private:
    [[nodiscard]] std::int64_t since_start(Ticks at) const noexcept {
        return static_cast<std::int64_t>(at - start_);
    }
    [[nodiscard]] const FaultRow* fault_of(std::uint32_t transfer) const noexcept {
        const auto* rows = in_window<const FaultRow>(tables_->faults_at);
        for (std::uint32_t i = 0; i < tables_->faults; ++i) {
            if (rows[i].transfer == transfer) {
                return &rows[i];
            }
        }
        return nullptr;
    }

    const Tables* tables_;
    Devices::Subsystem* io_ = nullptr;
    ApplicationDma dma_;
    Served task_[most_cores][most_tasks] = {};
    std::uint32_t handed_[most_cores] = {};
    std::uint32_t transfers_ = 0;
    std::uint32_t events_ = 0;
    std::uint32_t jobs_ = 0;
    std::uint32_t counts_[static_cast<std::uint32_t>(spm::Kind::count)] = {};
    Ticks start_ = 0;
    Ticks boundary_ = 0;
    Ticks instant_ = 0;
    Ticks lasting_ = 0;  // the operation that was begun last
    Ticks sleep_ = 0;
};
static_assert(spm::IoBoard<Board>);

using Kernel = spm::IoCore<Board, most_cores, most_tasks, Access, 64>;

// Answers the application cores' questions for the time until all have set their clocks.
bool set_clocks(bare::ControlBlock& block) noexcept {
    for (bool all = false; !all; ThisPort::relax()) {
        all = true;
        for (std::uint32_t c = 0; c < application_cores; ++c) {
            ClockExchange<Access>::Reference reference(on_chip_shared().control[c].clock);
            if (reference.asked()) {
                reference.answer(ThisPort::now());
            }
            all = all && reference.done() != 0;
        }
        if (block.stop_requested()) {
            return false;
        }
    }
    return true;
}

// Emulated, an instruction that does nothing costs next to nothing, and a jump the most: few turns, long
// ones.
[[gnu::noinline]] void idle(std::uint32_t turns) noexcept {
    for (std::uint32_t i = 0; i < turns; ++i) {
        asm volatile(".rept 200\n nop\n .endr" ::: "memory");
    }
}

// Waiting for a time. Away from it the clock is looked at rarely: emulated, reading it costs more than all
// else.
class Wait {
  public:
    // How long a turn of idle() takes on this core, at this clock.
    void calibrate() noexcept {
        idle(turns);
        const Ticks begin = ThisPort::now();
        idle(turns);
        long_ = ThisPort::now() - begin;
    }
    // Until `at`; before it comes what the devices have, one message at a time.
    void until(Ticks at, Board& board, Devices* devices) const noexcept {
        for (Ticks now = ThisPort::now(); now < at; now = ThisPort::now()) {
            const Ticks left = at - now;
            const bool moving = board.dma_state() == DmaState::busy;
            if (devices != nullptr && devices->serve(now, left)) {
                continue;
            }
            if (!moving && left > long_ / 2) {
                idle(left > 4 * long_ ? turns : turns / 5);
            }
            ThisPort::relax();
        }
    }

  private:
    static constexpr std::uint32_t turns = 15;
    Ticks long_ = 0;
};

// Null, or what is wrong with a task; its image lies where its code is.
const char* why_not(const spm::Image& task, std::uint32_t partition_bytes) noexcept {
    const auto* image = reinterpret_cast<const ImageHeader*>(task.code);
    const auto* words = reinterpret_cast<const std::uint32_t*>(task.code);
    if (image == nullptr || image->magic != ImageHeader::magic_number || image->bytes != task.size.code ||
        image->hash != hash_of(words, task.size.code / 4)) {
        return "'s image is damaged";
    }
    if (task.size.code % page != 0) {
        return "'s code is not whole pages";
    }
    return spm::layout_of(task.size).bytes > partition_bytes ? " exceeds its partition" : nullptr;
}

// True if a core's partitions are whole pages of its scratchpad, and leave its stack alone.
bool lies_in(std::uint32_t core, const KernelTables& tables) noexcept {
    const std::uint32_t bytes = tables.partition_bytes[core];
    for (std::uint32_t p = 0; core < application_cores && p < spm::partitions; ++p) {
        const auto at = reinterpret_cast<std::uintptr_t>(tables.partition[core][p]);
        if (at % page != 0 || bytes % page != 0 || at < scratchpad_at(core) || at + bytes > stack_at(core)) {
            return false;
        }
    }
    return true;
}

Ticks earlier(Ticks a, Ticks b) {
    return a < b ? a : b;
}

// In turns: until the next instant at which there is something to decide. The kernel's step is for that very
// instant, so that its delays do not add up. Now and then it is looked whether something hangs.
Ticks wait_for_instant(Ticks next, Ticks last, Board& board, const Kernel& kernel,
                       Devices* devices) noexcept {
    constexpr Ticks look = 50000;
    constexpr Ticks near = 3000;
    for (;;) {
        const Ticks now = ThisPort::now();
        const Ticks at = earlier(next, earlier(board.operation_end(), kernel.next_finish()));
        if (at <= now) {
            return at > last ? at : last;
        }
        if (now - last > look) {
            return now;
        }
        if (devices != nullptr && devices->serve(now, at - now)) {
            continue;
        }
        // A core tells the end of a job that is to last for a time before it has come.
        if (at - now > near) {
            idle(6);
        }
        ThisPort::relax();
    }
}

}  // namespace

int consort_program(bare::ControlBlock& block) noexcept {
    const auto& tables = *in_window<const Tables>(tables_at);
    if (tables.magic != Tables::magic_number) {
        return bare::fail(block, "no tables in the window");
    }
    static Board board(tables);
    static KernelTables from;
    if (const char* wrong = read_tables(from)) {
        return bare::fail(block, wrong);
    }
    static spm::CoreSetup<Access> setup[most_cores];
    const auto* given = in_window<const Given>(tables.given_at);
    std::uint32_t row = 0;
    for (std::uint32_t c = 0; c < from.plan.cores(); ++c) {
        const spm::Table& tasks = setup[c].tasks = from.plan.tasks(c);
        setup[c].handover = &on_chip_shared().handover[c];
        for (std::uint32_t p = 0; p < spm::partitions; ++p) {
            setup[c].partition[p] = from.partition[c][p];
        }
        const bool wrong_place = !lies_in(c, from);
        for (std::uint32_t t = 0; t < tasks.count; ++t, ++row) {
            const char* wrong = wrong_place ? "'s partitions are not pages of its core's scratchpad"
                                            : why_not(tasks.entries[t].image, from.partition_bytes[c]);
            if (wrong != nullptr) {
                return bare::fail(block, bare::Text<80>().add("task ").number(row).add(wrong).c_str());
            }
            if (row < tables.given) {
                board.add(c, t, *tasks.entries[t].plan, given[row],
                          in_window<Summary>(tables.summaries_at)[row]);
            }
        }
    }
    if (row != tables.given) {
        return bare::fail(block, "the rows in the window are of other tasks");
    }
    static Devices attached;
    Devices* const devices = tables.io_at != 0 ? &attached : nullptr;
    while (Access::load<SyncPoint::queue_observe>(on_chip_shared().cleared) != Tables::magic_number) {
        ThisPort::relax();
    }
    if (!set_clocks(block)) {
        return bare::fail(block, "stopped by the host");
    }
    if (devices != nullptr) {
        if (const char* wrong = devices->prepare(*in_window<const IoTables>(tables.io_at))) {
            return bare::fail(block, wrong);
        }
        board.attach(devices->subsystem());
    }
    Wait wait;
    wait.calibrate();
    const Ticks start = ThisPort::now() + tables.lead;
    board.begin(start);
    if (devices != nullptr) {
        devices->start(start);
    }
    spm::Schedule schedule = from.schedule;
    schedule.start = start;
    static Kernel kernel(board, setup, from.plan.cores(), schedule);
    const auto* request = in_window<const RequestRow>(tables.requests_at);
    std::uint32_t requested = 0;
    bool closed = false;
    Ticks longest_step = 0;
    board.boundary(start);
    const bool in_turn = schedule.arbitration == spm::Arbitration::round_robin;
    Ticks instant = ThisPort::now();
    for (;;) {
        const Ticks looked = ThisPort::now();
        const Ticks now = in_turn ? instant : looked;
        board.instant(now);
        if (in_turn) {
            board.boundary(now);
        }
        while (requested < tables.requests && start + request[requested].at <= now) {
            kernel.request(request[requested].core, request[requested].task, start + request[requested].at);
            ++requested;
        }
        if (!closed && now >= start + tables.until) {
            kernel.close();
            closed = true;
        }
        if (closed && kernel.empty()) {
            break;
        }
        Ticks next = kernel.step(now);
        if (!in_turn) {
            board.boundary(next);
        }
        const Ticks took = ThisPort::now() - looked;
        longest_step = took > longest_step ? took : longest_step;
        if (const Ticks sleep = board.take_sleep(); sleep != 0) {
            const Ticks awake = ThisPort::now() + sleep;
            while (ThisPort::now() < awake) {
                ThisPort::relax();
            }
        }
        if (requested < tables.requests) {
            next = earlier(next, start + request[requested].at);
        }
        if (!closed) {
            next = earlier(next, start + tables.until);
        }
        if (in_turn) {
            instant = wait_for_instant(next, now, board, kernel, devices);
        } else {
            wait.until(next, board, devices);
        }
        block.progress(board.jobs());
        if (block.stop_requested()) {
            return bare::fail(block, "stopped by the host");
        }
    }
    kernel.halt();
    if (devices != nullptr) {
        // Serves the outputs of the last unloads.
        while (devices->serve(ThisPort::now(), spm::never)) {
        }
        devices->report();
    }
    board.report();
    block.result(0, board.events());
    block.result(1, board.jobs());
    block.result(2, board.count(spm::Kind::slot_wasted));
    block.result(3, static_cast<std::uint32_t>(longest_step));
    return 0;
}
