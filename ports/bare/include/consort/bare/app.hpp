// SPDX-License-Identifier: Apache-2.0
//
// One task of an application on a board: the master releases its jobs, a worker on another processor (or the
// master itself) computes them. `consort run` writes the program around it; what it is told is in `argument`
// below.
#pragma once

#include <cstdint>
#include <string_view>

#include "consort/bare/program.hpp"
#include "consort/icc.hpp"
#include "consort/offload.hpp"

namespace consort::bare::app {

// Most sides reach the window without caches or through a coherent host: barriers are what they need. A
// process of a Linux to which the window is device memory is compiled with access::Device.
#ifndef CONSORT_BARE_ACCESS
#define CONSORT_BARE_ACCESS SystemBarrier
#endif
using Access = access::CONSORT_BARE_ACCESS;

namespace role {
inline constexpr std::uint32_t master = 1;
inline constexpr std::uint32_t worker = 2;
}  // namespace role

// The desk's arguments; python/consort/board/application.py has the same order. Offsets are from the window's
// begin.
namespace argument {
inline constexpr std::uint32_t region = 0;
inline constexpr std::uint32_t region_bytes = 1;
inline constexpr std::uint32_t jobs = 2;
inline constexpr std::uint32_t rows = 3;     // of inputs; used again from the first, with a fresh state
inline constexpr std::uint32_t inputs = 4;   // In[rows]
inline constexpr std::uint32_t records = 5;  // JobRecord[jobs]
inline constexpr std::uint32_t outputs = 6;  // Out[jobs]
inline constexpr std::uint32_t period_ns = 7;
inline constexpr std::uint32_t deadline_ns = 8;
inline constexpr std::uint32_t margin_ns = 9;  // before the deadline: when an answer is given up
inline constexpr std::uint32_t policy = 10;    // offload::OnMiss
inline constexpr std::uint32_t flags = 11;
}  // namespace argument

namespace flag {
inline constexpr std::uint32_t local = 1;
// The next job begins when the last one has ended, and no answer is given up: emulators without instruction
// counting run as fast as the host lets them, and a deadline would judge the host.
inline constexpr std::uint32_t unhurried = 2;
}  // namespace flag

using offload::JobRecord;

namespace detail {

using namespace std::string_view_literals;

template <class T>
using Channels = offload::JobChannels<T, Access>;
using Control = WorkerControl<Access>;

template <class T>
Refusal make(void* memory, std::uint32_t bytes) noexcept {
    auto maker = RegionMaker<Access>::begin(memory, bytes, {ThisPort::core_id(), 8, 128});
    if (!maker.ok()) {
        return maker.refusal();
    }
    Refusal refusal{};
    const auto add = [&]<class C>(std::string_view name) {
        if (refusal.reason == Reason::none) {
            refusal = maker.value().template add<C>(name).refusal();
        }
    };
    add.template operator()<Control>("control"sv);
    add.template operator()<typename Channels<T>::RequestBox>("in"sv);
    add.template operator()<typename Channels<T>::ResponseBox>("out"sv);
    add.template operator()<typename Channels<T>::StateBox>("checkpoint"sv);
    add.template operator()<typename Channels<T>::StateBox>("restore"sv);
    return refusal.reason == Reason::none ? maker.value().publish().refusal() : refusal;
}

template <class T>
Refusal open(void* memory, std::uint32_t bytes, Desk& desk, Channels<T>& channels,
             Control::Shared*& control) noexcept {
    auto region = Region<Access>::attach(memory, bytes);
    while (
        !region.ok() && !desk.told_to_stop() &&
        (region.refusal().reason == Reason::not_ready || region.refusal().reason == Reason::not_a_region)) {
        ThisPort::relax();
        region = Region<Access>::attach(memory, bytes);
    }
    if (!region.ok()) {
        return region.refusal();
    }
    Refusal refusal{};
    const auto find = [&]<class C>(std::string_view name, typename C::Shared*& place) {
        if (refusal.reason == Reason::none) {
            const auto found = region.value().template open<C>(name);
            refusal = found.refusal();
            place = found.ok() ? found.value() : nullptr;
        }
    };
    find.template operator()<Control>("control"sv, control);
    find.template operator()<typename Channels<T>::RequestBox>("in"sv, channels.in);
    find.template operator()<typename Channels<T>::ResponseBox>("out"sv, channels.out);
    find.template operator()<typename Channels<T>::StateBox>("checkpoint"sv, channels.checkpoint);
    find.template operator()<typename Channels<T>::StateBox>("restore"sv, channels.restore);
    return refusal;
}

inline int refused(Desk& desk, const Refusal& refusal) noexcept {
    Text<Desk::text_bytes> text;
    text.add("refused: ").add(to_string(refusal.reason));
    if (refusal.reason == Reason::wrong_layout) {
        text.add("; ").add(refusal.aspect).add(" of ");
        text.add(refusal.member.view().data(), refusal.member.view().size());
        text.add(": expected ").number(refusal.expected).add(", found ").number(refusal.found);
    }
    return fail(desk, text.c_str());
}

template <class T>
class MasterSide {
  public:
    explicit MasterSide(Desk& desk) noexcept
        : desk_(desk),
          jobs_(desk.argument(argument::jobs)),
          rows_(desk.argument(argument::rows)),
          inputs_(at<typename T::In>(argument::inputs)),
          records_(at<JobRecord>(argument::records)),
          outputs_(at<typename T::Out>(argument::outputs)),
          period_(ticks(argument::period_ns)),
          deadline_(ticks(argument::deadline_ns)),
          give_up_(deadline_ - ticks(argument::margin_ns)),
          unhurried_((desk.argument(argument::flags) & flag::unhurried) != 0) {}

    int run_local() noexcept {
        typename T::State state{};
        return cycle(
            [&](const typename T::In& in, bool reset, JobRecord& /*record*/) {
                in_ = in;
                reset_ = reset;
            },
            [&](typename T::Out& out, Ticks /*release*/, JobRecord& record) {
                if (reset_) {
                    state = typename T::State{};
                }
                const Ticks begin = timestamp<ThisPort>();
                T::step(in_, state, out);
                record.compute = timestamp<ThisPort>() - begin;
                return true;
            });
    }

    int run_offloaded(const Channels<T>& channels, Control::Shared& shared) noexcept {
        Control::Master control(shared);
        while (control.epoch() == 0) {
            ThisPort::relax();
            if (desk_.told_to_stop()) {
                return fail(desk_, "no worker came");
            }
        }
        offload::Master<T, ThisPort, Access> master(
            channels, control, static_cast<offload::OnMiss>(desk_.argument(argument::policy)));
        const int status = cycle(
            [&](const typename T::In& in, bool reset, JobRecord& record) {
                record.worker = 1;
                master.begin(in, reset);
            },
            [&](typename T::Out& out, Ticks release, JobRecord& record) {
                // No supervisor beside a bare core: a worker is alive until its pulse says otherwise.
                const Ticks limit = unhurried_ ? ~Ticks{0} : release + give_up_;
                const auto& report = master.finish(out, limit, [] { return true; });
                record.sent = report.sent;
                record.received = report.received;
                record.compute = report.compute_ticks;
                record.status |= report.status;
                return !report.stop;
            });
        control.order(Command::stop);
        return status;
    }

  private:
    template <class U>
    [[nodiscard]] U* at(std::uint32_t which) const noexcept {
        return reinterpret_cast<U*>(window() + desk_.argument(which));
    }
    [[nodiscard]] Ticks ticks(std::uint32_t which) const noexcept {
        return Ticks{desk_.argument(which)} * ThisPort::ticks_per_second() / 1000000000U;
    }

    template <class Begin, class Finish>
    int cycle(Begin&& begin, Finish&& finish) noexcept {
        Ticks release = ThisPort::now() + period_;
        typename T::Out out{};
        for (std::uint32_t n = 0; n < jobs_; ++n) {
            if (unhurried_) {
                release = ThisPort::now();
            }
            while (ThisPort::now() < release) {
                ThisPort::relax();
            }
            JobRecord record{};
            record.release = release;
            record.start = ThisPort::now();
            record.seq = n;
            record.step = n % rows_;
            typename T::In in;
            __builtin_memcpy(&in, inputs_ + record.step, sizeof(in));
            begin(in, record.step == 0 && n != 0, record);
            const bool go_on = finish(out, release, record);
            record.finish = ThisPort::now();
            const bool held = (record.status & offload::job_status::held) != 0;
            if (!unhurried_ && (held || record.finish > release + deadline_)) {
                record.status |= offload::job_status::missed;
            }
            __builtin_memcpy(outputs_ + n, &out, sizeof(out));
            __builtin_memcpy(records_ + n, &record, sizeof(record));
            desk_.progress(n + 1);
            release += period_;
            if (!go_on) {
                return fail(desk_, "a job missed its deadline, and the task's on_miss is stop");
            }
            if (n % 64 == 0 && desk_.told_to_stop()) {
                return fail(desk_, "told to stop");
            }
        }
        desk_.result(0, jobs_);
        return 0;
    }

    Desk& desk_;
    std::uint32_t jobs_;
    std::uint32_t rows_;
    const typename T::In* inputs_;
    JobRecord* records_;
    typename T::Out* outputs_;
    Ticks period_;
    Ticks deadline_;
    Ticks give_up_;
    bool unhurried_;
    typename T::In in_{};
    bool reset_ = false;
};

}  // namespace detail

// The program of one side. T: offload::Task<&step>.
template <class T>
int application(Desk& desk) noexcept {
    if (desk.role() == 0) {
        return 0;
    }
    desk.result(1, static_cast<std::uint32_t>(ThisPort::ticks_per_second()));
    void* memory = window() + desk.argument(argument::region);
    const std::uint32_t bytes = desk.argument(argument::region_bytes);
    static detail::Channels<T> channels;
    typename detail::Control::Shared* control = nullptr;
    const bool master = desk.role() == role::master;
    if (master && (desk.argument(argument::flags) & flag::local) != 0) {
        return detail::MasterSide<T>(desk).run_local();
    }
    if (master) {
        if (const Refusal refusal = detail::make<T>(memory, bytes); refusal.reason != Reason::none) {
            return detail::refused(desk, refusal);
        }
    }
    const Refusal refusal = detail::open<T>(memory, bytes, desk, channels, control);
    if (refusal.reason != Reason::none) {
        return detail::refused(desk, refusal);
    }
    if (master) {
        return detail::MasterSide<T>(desk).run_offloaded(channels, *control);
    }
    offload::Worker<ThisPort, Access, T> worker(*control, channels);
    const Status status = worker.serve([](const offload::ServedJob&) {});
    return status == Status::ok ? 0 : fail(desk, "the region was damaged");
}

}  // namespace consort::bare::app
