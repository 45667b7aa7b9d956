// SPDX-License-Identifier: Apache-2.0
//
// The cores of one run share these in the window: a region with the plan's channels, those of each offloaded
// task and each worker's control, and a line for each core that releases tasks.
//
// One core makes the region; the others attach when it is ready. Everything here is as good for a process
// beside the board as for a core.
#pragma once

#include <cstdint>
#include <string_view>

#include "consort/bare/program.hpp"
#include "consort/icc.hpp"
#include "consort/offload.hpp"

namespace consort::bare {

// Most sides reach the window without caches or through a coherent host: barriers are what they need. A
// process of a Linux to which the window is device memory is compiled with access::Device.
#ifndef CONSORT_BARE_ACCESS
#define CONSORT_BARE_ACCESS SystemBarrier
#endif
using Access = access::CONSORT_BARE_ACCESS;

template <class T>
using Channels = offload::JobChannels<T, Access>;
using Control = WorkerControl<Access>;

// The number of 64 bits that the host left at a place, as two arguments of the control block.
[[gnu::noinline]] inline std::uint64_t value_at(const ControlBlock& block, std::uint32_t place) noexcept {
    return block.argument(2 * place) | std::uint64_t{block.argument(2 * place + 1)} << 32U;
}

// A core's value, by the host's order of such numbers.
template <class Values>
std::uint64_t core_value(const ControlBlock& block, typename Values::Core what) noexcept {
    return value_at(block, static_cast<std::uint32_t>(what));
}

// Says why a region was refused; the program's exit status.
inline int refused(ControlBlock& block, const Refusal& refusal) noexcept {
    Text<ControlBlock::text_bytes> text;
    text.add("refused: ").add(to_string(refusal.reason));
    if (refusal.reason == Reason::wrong_layout) {
        text.add("; ").add(refusal.aspect).add(" of ");
        text.add(refusal.member.view().data(), refusal.member.view().size());
        text.add(": expected ").number(refusal.expected).add(", found ").number(refusal.found);
    }
    return fail(block, text.c_str());
}

namespace detail {

using ObjectName = Text<ObjectEntry::name_capacity>;

// Calls `each` with the channels of a task: `Channel` and its object's name.
template <class T, class Each>
void for_each_channel(std::string_view task, Each&& each) noexcept {
    const auto one = [&]<class C>(const char* suffix, auto Channels<T>::*place) {
        ObjectName name;
        name.add(task.data(), task.size()).add(suffix);
        each.template operator()<C>(name.view(), place);
    };
    one.template operator()<typename Channels<T>::Mail>(".mail", &Channels<T>::mail);
    one.template operator()<typename Channels<T>::StateBox>(".checkpoint", &Channels<T>::checkpoint);
    one.template operator()<typename Channels<T>::StateBox>(".restore", &Channels<T>::restore);
}

}  // namespace detail

// The number of leaves in the values that a channel of the plan carries.
template <class C>
constexpr std::uint32_t leaves_of_channel() noexcept {
    return static_cast<std::uint32_t>(Layout<typename C::Channel::Value>::count);
}

// Makes the region of a run in which the tasks T are offloaded. The first refusal is kept.
template <class... T>
class RunRegionMaker {
  public:
    // `leaves`: of the values that the plan's `channels` carry.
    RunRegionMaker(void* memory, std::uint32_t bytes, std::uint32_t workers, std::uint32_t channels = 0,
                   std::uint32_t leaves = 0) noexcept {
        constexpr std::uint32_t of_tasks = (leaves_of<T>() + ... + 0U);
        auto begun = RegionMaker<Access>::begin(
            memory, bytes,
            {ThisPort::core_id(), static_cast<std::uint32_t>(3 * sizeof...(T)) + workers + channels,
             of_tasks + workers + leaves});
        refusal_ = begun.refusal();
        if (begun.ok()) {
            maker_ = begun.value();
        }
    }

    template <class U>
    void task(std::string_view name) noexcept {
        detail::for_each_channel<U>(
            name, [&]<class C>(std::string_view object, auto /*place*/) { add<C>(object); });
    }
    // C: a channel of the plan, such as app::SnapshotOf a type.
    template <class C>
    void channel(std::string_view name) noexcept {
        add<typename C::Channel>(name);
    }
    void worker(std::string_view name) noexcept { add<Control>(name); }
    [[nodiscard]] Refusal publish() noexcept {
        return refusal_.reason == Reason::none ? maker_.publish().refusal() : refusal_;
    }

  private:
    // The number of leaves in the values that its channels carry: request, answer and two states.
    template <class U>
    static constexpr std::uint32_t leaves_of() noexcept {
        using C = Channels<U>;
        return static_cast<std::uint32_t>(Layout<typename C::Mail::Value>::count +
                                          2 * Layout<typename C::StateBox::Value>::count);
    }
    template <class C>
    void add(std::string_view name) noexcept {
        if (refusal_.reason == Reason::none) {
            refusal_ = maker_.template add<C>(name).refusal();
        }
    }

    RegionMaker<Access> maker_;
    Refusal refusal_{};
};

// The region of a run, once it is made. The first refusal is kept.
class RunRegion {
  public:
    RunRegion(void* memory, std::uint32_t bytes, const ControlBlock& block) noexcept {
        auto region = Region<Access>::attach(memory, bytes);
        while (!region.ok() && !block.stop_requested() &&
               (region.refusal().reason == Reason::not_ready ||
                region.refusal().reason == Reason::not_a_region)) {
            ThisPort::relax();
            region = Region<Access>::attach(memory, bytes);
        }
        refusal_ = region.refusal();
        if (region.ok()) {
            region_ = region.value();
        }
    }

    template <class T>
    [[nodiscard]] Channels<T> task(std::string_view name) noexcept {
        Channels<T> found;
        detail::for_each_channel<T>(
            name, [&]<class C>(std::string_view object, auto place) { found.*place = open<C>(object); });
        return found;
    }
    template <class C>
    [[nodiscard]] typename C::Channel::Shared* channel(std::string_view name) noexcept {
        return open<typename C::Channel>(name);
    }
    [[nodiscard]] Control::Shared* worker(std::string_view name) noexcept { return open<Control>(name); }
    [[nodiscard]] const Refusal& refusal() const noexcept { return refusal_; }

  private:
    template <class C>
    [[nodiscard]] typename C::Shared* open(std::string_view name) noexcept {
        if (refusal_.reason != Reason::none) {
            return nullptr;
        }
        const auto found = region_.open<C>(name);
        refusal_ = found.refusal();
        return found.ok() ? found.value() : nullptr;
    }

    Region<Access> region_;
    Refusal refusal_{};
};

// Until the worker is attached. False: the host has ended the run.
inline bool await_worker(const Control::Master& worker, const ControlBlock& block) noexcept {
    while (worker.epoch() == 0) {
        if (block.stop_requested()) {
            return false;
        }
        ThisPort::relax();
    }
    return true;
}

// Flags of the cores that release tasks, on a line each: set when the core has sent its last request; behind
// them the flag that ends the run early. All are zero before the run.
class RunLines {
  public:
    // `cores`: of the plan; `core`: this one's number.
    RunLines(void* memory, std::uint32_t cores, std::uint32_t core) noexcept
        : lines_(static_cast<Line*>(memory)), stop_(&lines_[cores]), cores_(cores), core_(core) {}

    // A task's on_miss is stop, and its job was missed. Several cores may say so.
    void stop() noexcept { set(*stop_); }
    [[nodiscard]] bool stopped() const noexcept { return is_set(*stop_); }

    // True if a core has executed all its jobs.
    [[nodiscard]] bool finished(std::uint32_t core) const noexcept { return is_set(lines_[core]); }
    // The same for the plan's cores among these, a bit for each number.
    [[nodiscard]] bool all_finished(std::uint32_t cores) const noexcept {
        for (std::uint32_t core = 0; core < cores_; ++core) {
            if ((cores >> core & 1U) != 0 && !finished(core)) {
                return false;
            }
        }
        return true;
    }

    // This core sends no more requests. Orders `worker` to stop if that is so of all its masters, given by a
    // bit for each core's number.
    void finish() noexcept {
        set(lines_[core_]);
        // If two masters finish at once, one sees the other's word.
        isa::system_barrier();
    }
    void release(Control::Master& worker, std::uint32_t masters) const noexcept {
        if (all_finished(masters)) {
            worker.order(Command::stop);
        }
    }

  private:
    struct alignas(line_bytes) Line {
        typename Access::Word word;
    };
    static void set(Line& line) noexcept { Access::store<SyncPoint::diagnostic>(line.word, 1U); }
    static bool is_set(const Line& line) noexcept {
        return Access::load<SyncPoint::diagnostic>(line.word) != 0;
    }

    Line* lines_;
    Line* stop_;
    std::uint32_t cores_;
    std::uint32_t core_;
};

}  // namespace consort::bare
