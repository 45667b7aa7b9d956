// SPDX-License-Identifier: Apache-2.0
//
// An A72 as an application core of the scratchpad kernel: what a job sees, how it is entered and left, and
// for how long it lasts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/bare/arm/aarch64_page_tables.hpp"
#include "consort/bare/program.hpp"
#include "consort/spm/application_core.hpp"
#include "consort/versal/gic.hpp"
#include "consort/versal/kernel_tables.hpp"
#include "consort/versal/scratchpad.hpp"

namespace consort::versal::scratchpad {

using spm::Outcome;

// Fields of the running core that jobs.S reads, in this order.
struct Cpu {
    std::uint64_t stack;
    std::uint64_t tick;
    const Word* stop;
    std::uint32_t job;
};
static_assert(offsetof(Cpu, tick) == 8 && offsetof(Cpu, stop) == 16 && offsetof(Cpu, job) == 24);

extern "C" {
std::uint64_t consort_execute(std::uintptr_t entry, std::uintptr_t stack, const spm::Partition* parts);
extern const char consort_job_vectors[];
extern const char consort_job_page[];
}

// A job that is to last for a time is let go a tick and so much earlier, with the end as its time: an
// emulator that runs one core at a time comes back to this one within a tick.
inline constexpr Ticks end_of_job = 200;

// How consort_execute ends.
inline constexpr std::uint64_t by_return = 0;
inline constexpr std::uint64_t by_stop = 2;

// --- what a job sees: one table for each level that leads to its partition and to the page with the way out

inline constexpr std::uint64_t per_table = 512;
inline constexpr std::uint64_t block = bare::arm::PageTables::block;
struct alignas(4096) JobTables {
    std::uint64_t gib[per_table];         // the first four are used
    std::uint64_t low[per_table];         // of the first GiB
    std::uint64_t low_pages[per_table];   // of the 2 MiB with the way out
    std::uint64_t high[per_table];        // of the last GiB
    std::uint64_t high_pages[per_table];  // of the 2 MiB with the on-chip memory
};
inline JobTables job_tables[application_cores];

inline constexpr std::uint64_t table_or_page = 3;
inline constexpr std::uint64_t accessed = 1U << 10U;
inline constexpr std::uint64_t inner_shareable = 3U << 8U;
inline constexpr std::uint64_t not_global = 1U << 11U;
inline constexpr std::uint64_t user = 1U << 6U;
inline constexpr std::uint64_t read_only = 1U << 7U;
inline constexpr std::uint64_t privileged_never_executes = std::uint64_t{1} << 53U;
inline constexpr std::uint64_t never_executes = std::uint64_t{1} << 54U;
// Attribute 1: normal memory without caches, as the kernel maps it. What a job may write it may not execute.
inline constexpr std::uint64_t own_page =
    table_or_page | 1U << 2U | accessed | inner_shareable | not_global | user | privileged_never_executes;
inline constexpr std::uint64_t code_page = own_page | read_only;
inline constexpr std::uint64_t data_page = own_page | never_executes;
inline constexpr std::uint64_t way_out_page =
    table_or_page | accessed | inner_shareable | not_global | user | read_only;

inline std::uint64_t address_of(const void* p) {
    return reinterpret_cast<std::uintptr_t>(p);
}

// Shows a partition and the core's stack in the on-chip memory, and nothing else there. Its code, whole
// pages, ends where its data begin.
inline void show(JobTables& tables, std::uintptr_t begin, std::uintptr_t data, std::uintptr_t end,
                 std::uintptr_t stack) {
    constexpr std::uintptr_t first = versal::on_chip & ~(block - 1);
    for (std::uintptr_t at = versal::on_chip; at - versal::on_chip < versal::on_chip_bytes; at += page) {
        const bool shown = (at >= begin && at < end) || at == stack;
        const bool code = at >= begin && at < data;
        tables.high_pages[(at - first) / page] = !shown ? 0 : at | (code ? code_page : data_page);
    }
    asm volatile("dsb ishst\n tlbi alle1\n dsb ish\n ic iallu\n dsb ish\n isb" ::: "memory");
}

inline void prepare_job_view(JobTables& tables) {
    const std::uint64_t way_out = address_of(consort_job_page);
    tables.gib[0] = address_of(tables.low) | table_or_page;
    tables.low[way_out / block] = address_of(tables.low_pages) | table_or_page;
    tables.low_pages[way_out / page % per_table] = way_out | way_out_page;
    tables.gib[3] = address_of(tables.high) | table_or_page;
    tables.high[versal::on_chip / block % per_table] = address_of(tables.high_pages) | table_or_page;
    // 4 GiB from TTBR0, pages of 4 KiB, walks cached and inner shareable; nothing from TTBR1.
    constexpr std::uint64_t translation = 32U | 1U << 8U | 1U << 10U | 3U << 12U | 1U << 23U;
    asm volatile(
        "msr mair_el1, %0\n msr tcr_el1, %1\n msr ttbr0_el1, %2\n msr vbar_el1, %3\n"
        "msr cpacr_el1, %4\n msr sctlr_el1, %5\n msr scr_el3, %6\n isb" ::"r"(std::uint64_t{0x000444ff}),
        "r"(translation), "r"(address_of(tables.gib)), "r"(way_out), "r"(std::uint64_t{3} << 20U),
        // MMU and caches on, the reserved ones set; alignment and stacks checked, wfi and wfe trap.
        "r"(std::uint64_t{0x30d0180d | 1U << 4U}),
        // Below EL3 is AArch64; fast interrupts and system errors come to EL3.
        "r"(std::uint64_t{1U << 10U | 1U << 3U | 1U << 2U})
        : "memory");
}

// Before a core's first job.
inline void enter_kernel(std::uint32_t core) {
    asm volatile("msr vbar_el3, %0\n isb" ::"r"(consort_job_vectors));
    prepare_job_view(job_tables[core]);
}

// --- a core

class ApplicationBoard {
  public:
    ApplicationBoard(std::uint32_t core, const KernelTables& from, const Tables& tables) noexcept
        : core_(core),
          partition_bytes_(from.partition_bytes[core]),
          tables_(&tables),
          given_(in_window<const Given>(tables.given_at) + from.plan.first(core)),
          control_(&on_chip_shared().control[core]) {
        cpu_.tick = from_ns(tables.tick);
        cpu_.stop = &control_->io.stop;
        asm volatile("msr tpidr_el3, %0" ::"r"(&cpu_));
    }

    // Sets the clock by the I/O core's.
    void set_clock() noexcept {
        ClockExchange<Access>::Asker asker(control_->clock);
        ClockReading best;
        static_cast<void>(asker.read(best, 32, bare::ThisPort::timestamp, [] {
            bare::ThisPort::relax();
            return true;
        }));
        own_ = best.own;
        theirs_ = best.theirs;
        round_trip_ = to_ns(best.round_trip);
        asker.done();
    }
    [[nodiscard]] Ticks round_trip() const noexcept { return round_trip_; }
    [[nodiscard]] std::uint32_t executed() const noexcept { return executed_; }

    // Never before the end of the last job that was to last for a time.
    [[nodiscard]] Ticks now() const noexcept {
        const auto since = static_cast<std::int64_t>(bare::ThisPort::timestamp() - own_);
        const Ticks at = theirs_ + static_cast<Ticks>(since * ns_per_tick());
        return at > finish_ ? at : finish_;
    }

    Outcome execute(const spm::ReadyJob& ready, const spm::Partition& parts) noexcept {
        const Ticks handed =
            wide(control_->io.ready_low[executed_ % 4], control_->io.ready_high[executed_ % 4]);
        ++executed_;
        const auto base = reinterpret_cast<std::uintptr_t>(parts.code);
        const auto* header = reinterpret_cast<const ImageHeader*>(base);
        const std::uintptr_t end_of_stack = stack_at(core_) + stack_bytes;
        show(job_tables[core_], base, reinterpret_cast<std::uintptr_t>(parts.data), base + partition_bytes_,
             stack_at(core_));
        cpu_.job = job_number(ready.task, ready.job);
        spm::Partition* seen = reinterpret_cast<spm::Partition*>(end_of_stack) - 1;
        *seen = parts;
        seen->code += header->constants;
        const std::uintptr_t stack = reinterpret_cast<std::uintptr_t>(seen) & ~std::uintptr_t{15};
        PrivateTimer::after(cpu_.tick);
        const std::uint64_t how = header->magic == ImageHeader::magic_number
                                      ? consort_execute(base + header->entry, stack, seen)
                                      : 1;
        // Counted from when the job could have begun, so that the core's own delays do not add up.
        const Ticks begin = handed > finish_ ? handed : finish_;
        const Given& row = given_[ready.task];
        bool stopped = how == by_stop;
        Ticks end = begin;
        if (how == by_return && row.lasting != 0) {
            const std::uint32_t n = ready.job < row.lasting ? ready.job : row.lasting - 1;
            end = begin + in_window<const std::uint64_t>(row.lasting_at)[n];
            stopped = !last_until(end - tables_->tick - end_of_job);
        }
        cpu_.job = 0;
        finish_ = stopped ? now() : end;
        return stopped ? Outcome::stopped : how == by_return ? Outcome::done : Outcome::fault;
    }

    // The timer wakes the core for its next look.
    void relax() noexcept {
        PrivateTimer::after(cpu_.tick);
        asm volatile("wfi" ::: "memory");
    }

  private:
    // False: the job is to be left before.
    bool last_until(Ticks end) noexcept {
        for (Ticks at = now(); at < end; at = now()) {
            if (Access::load<SyncPoint::diagnostic>(control_->io.stop) == cpu_.job) {
                return false;
            }
            const Ticks left = from_ns(end - at);
            PrivateTimer::after(left < cpu_.tick ? left : cpu_.tick);
            asm volatile("wfi" ::: "memory");
        }
        return true;
    }
    static std::int64_t ns_per_tick() noexcept {
        return static_cast<std::int64_t>(1000000000U / bare::ThisPort::ticks_per_second());
    }
    static Ticks to_ns(Ticks ticks) noexcept { return ticks * static_cast<Ticks>(ns_per_tick()); }
    static Ticks from_ns(Ticks ns) noexcept { return ns / static_cast<Ticks>(ns_per_tick()) + 1; }
    static Ticks wide(const Word& low, const Word& high) noexcept {
        return Ticks{Access::load<SyncPoint::own>(high)} << 32U | Access::load<SyncPoint::own>(low);
    }

    std::uint32_t core_;
    std::uint32_t partition_bytes_;
    const Tables* tables_;
    const Given* given_;  // to its tasks
    Control* control_;
    Cpu cpu_{};
    Ticks own_ = 0;
    Ticks theirs_ = 0;
    Ticks round_trip_ = 0;
    Ticks finish_ = 0;
    std::uint32_t executed_ = 0;
};
static_assert(spm::ExecutionBoard<ApplicationBoard>);

}  // namespace consort::versal::scratchpad
