// SPDX-License-Identifier: Apache-2.0
//
// A program of the executive knows of its application the types of its tasks, channels and devices.
// The program that `consort run` makes from a description lists them and calls `executive`; everything else
// of the run stands in a configuration file, so that a changed deadline compiles nothing:
//
//     struct Servo : consort::Task<&servo::step> {};
//     using SetPoints = consort::app::SnapshotOf<float, 1>;
//     int main(int argc, char** argv) {
//         consort::linux_port::Catalogue catalogue;
//         catalogue.task<Servo>("servo");
//         catalogue.channel<SetPoints>("set-points");
//         catalogue.reads<SetPoints, float>("servo", "reference", "set-points",
//                                           offsetof(Servo::In, reference));
//         return consort::linux_port::executive(argc, argv, catalogue);
//     }
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "consort/app/job_runner.hpp"
#include "consort/icc.hpp"
#include "consort/linux/executive/carrier.hpp"
#include "consort/linux/executive/channels.hpp"
#include "consort/linux/executive/devices.hpp"
#include "consort/linux/executive/shared.hpp"
#include "consort/linux/executive/stand_in.hpp"
#include "consort/linux/executive/state_memory.hpp"
#include "consort/linux/port.hpp"
#include "consort/offload.hpp"
#include "consort/spm/step.hpp"
#include "consort/task.hpp"

namespace consort::linux_port {

// A type's layout, without its type.
struct TypeInfo {
    std::uint32_t bytes = 0;
    std::size_t count = 0;
    const Leaf* leaves = nullptr;
    LeafName (*name)(std::size_t) noexcept = nullptr;

    // Described as so many bytes.
    [[nodiscard]] bool opaque() const {
        return count == 1 && leaves[0].size == 1 && leaves[0].count == bytes && name(0).view() == "bytes";
    }
};

// The compiler searches small types for their members. A larger one takes it minutes; unless its members are
// declared (CONSORT_LAYOUT), it is described as so many bytes.
template <class T>
inline constexpr bool has_described_members = sizeof(T) <= 512 || DeclaredMembers<T>::declared;

template <class T>
TypeInfo type_info() {
    if constexpr (std::is_empty_v<T>) {
        return {};
    } else if constexpr (has_described_members<T>) {
        return {Layout<T>::size, Layout<T>::count, Layout<T>::leaves.data(), &Layout<T>::name};
    } else {
        static constexpr Leaf leaf{0, sizeof(T), Kind::unsigned_integer, 1, 0, 0};
        return {sizeof(T), 1, &leaf, [](std::size_t) noexcept {
                    LeafName name;
                    name.append("bytes");
                    return name;
                }};
    }
}

// The step on the core that releases it.
struct LocalStep {
    LocalStep() = default;
    LocalStep(const LocalStep&) = delete;
    LocalStep& operator=(const LocalStep&) = delete;
    virtual ~LocalStep() = default;
    virtual void reset() noexcept = 0;
    virtual void run(const std::byte* in, std::byte* out) noexcept = 0;
    // For whoever computes a job twice.
    virtual std::byte* state() noexcept = 0;
    [[nodiscard]] virtual std::size_t state_bytes() const noexcept = 0;
};

// The step on a worker, seen from its master.
struct RemoteStep {
    RemoteStep() = default;
    RemoteStep(const RemoteStep&) = delete;
    RemoteStep& operator=(const RemoteStep&) = delete;
    virtual ~RemoteStep() = default;
    virtual void begin(const std::byte* in, bool reset) noexcept = 0;
    // `alive(of)`: whether the platform knows the worker to be running. The answer is awaited by spinning.
    virtual const offload::JobReport& finish(std::byte* out, Ticks deadline, bool (*alive)(const void*),
                                             const void* of) noexcept = 0;
    // The state after the last job, once the worker has nothing left to do; and the state and output that the
    // next job goes on from.
    virtual void state(std::byte* to) noexcept = 0;
    virtual void resume(const std::byte* state, const std::byte* out) noexcept = 0;
    // As for state(): from the next job on another remedy for a missing answer.
    virtual void enter(OnMiss policy) noexcept = 0;
};

// A worker's side of its control, which also says in which job it is, should it not end it.
class ServingWorker : public WorkerControl<>::Worker {
  public:
    ServingWorker(WorkerControl<>::Shared& control, SharedRun& shared, CoreLine& line) noexcept
        : WorkerControl<>::Worker(control), shared_(&shared), line_(&line) {
        line.serving.store(0, std::memory_order_relaxed);
    }
    // `task`: 1 + its number; 0: none.
    void busy(std::uint32_t task) noexcept {
        if (task != 0) {
            line_->serving_job.store(shared_->tasks[task - 1].job.load(std::memory_order_relaxed),
                                     std::memory_order_relaxed);
            line_->serving_since.store(Clock::now(), std::memory_order_relaxed);
        }
        line_->serving.store(task, std::memory_order_release);
        WorkerControl<>::Worker::busy(task);
    }
    // A master that has done all its jobs takes no answer any more: room for one is not to be waited for.
    [[nodiscard]] Command command() const noexcept {
        const bool over = shared_->run[0].stop_workers.load(std::memory_order_relaxed) != 0;
        return over ? Command::stop : WorkerControl<>::Worker::command();
    }

  private:
    SharedRun* shared_;
    CoreLine* line_;
};

// The step as a worker serves it.
struct ServedStep {
    ServedStep() = default;
    ServedStep(const ServedStep&) = delete;
    ServedStep& operator=(const ServedStep&) = delete;
    virtual ~ServedStep() = default;
    // Serves one job if there is one: ok, would_block or peer_fault.
    virtual Status poll(std::uint32_t kind, ServingWorker& control, offload::ServedJob& served) noexcept = 0;
};

struct StepEntry {
    std::string name;
    bool stand_in = false;
    TypeInfo in, state, out, constants;
    std::unique_ptr<LocalStep> (*local)() = nullptr;
    // The same with its state elsewhere; `state` outlives it.
    std::unique_ptr<LocalStep> (*local_at)(std::byte* state) = nullptr;
    // Its channels to a worker.
    std::size_t region_bytes = 0;
    std::size_t region_leaves = 0;
    void (*add_channels)(RegionMaker<>&, const std::string&) = nullptr;
    std::unique_ptr<RemoteStep> (*master)(const Region<>&, const std::string&, WorkerControl<>::Master&,
                                          OnMiss) = nullptr;
    std::unique_ptr<ServedStep> (*server)(const Region<>&, const std::string&) = nullptr;
    // Three-phase.
    spm::Footprint footprint{};
    void (*parts)(const spm::Partition&) = nullptr;
    const std::byte* (*constants_image)() = nullptr;
    void (*fresh_state)(std::byte*) = nullptr;
};

struct ChannelEntry {
    std::string name;
    TypeInfo value;
    std::size_t region_bytes = 0;
    std::size_t region_leaves = 0;
    void (*add)(RegionMaker<>&, const std::string&) = nullptr;
    // For a channel on a link: the carrier that moves its blocks.
    std::unique_ptr<Carrier> (*carrier)(const Region<>&, const std::string&, LinkLine*, Ticks) = nullptr;
};

// One binding of a task's input or output.
struct Binding {
    std::string task;
    std::string member;
    std::string source;  // the channel or device
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;
    bool device = false;
    std::uint32_t reader = 0;
    std::uint32_t block_bytes = 0;  // of the channel
    std::size_t end_bytes = 8;      // what its end keeps, at most
    bool latest = false;            // the member is a Latest
    std::uint32_t batch = 0;        // the member is a Batch of up to so many …
    std::uint32_t batch_items = 0;  // … which begin at this offset in it
    std::shared_ptr<ReadSource> (*open_reader)(const Region<>&, const Binding&) = nullptr;
    std::shared_ptr<WriteTarget> (*open_writer)(const Region<>&, const Binding&) = nullptr;
    // For a device: a part of its data.
    std::uint32_t part_offset = 0;
    std::shared_ptr<ReadSource> (*device_reader)(Device&, const Binding&) = nullptr;
    std::shared_ptr<WriteTarget> (*device_writer)(Device&, const Binding&) = nullptr;
};

struct DeviceEntry {
    std::string name;
    bool plant = false;
    std::shared_ptr<Device> (*make)() = nullptr;
    TypeInfo state{};  // of a plant
};

// The objects through which a task of one worker is served, under the task's name.
template <class T>
void add_job_channels(RegionMaker<>& maker, const std::string& task) {
    const std::string name = object_name(task);
    using C = offload::JobChannels<T>;
    const auto add = [&]<class Channel>(const char* suffix, std::type_identity<Channel>) {
        if (const auto added = maker.template add<Channel>(name + suffix); !added) {
            refuse(name + suffix, added.refusal());
        }
    };
    add(".mail", std::type_identity<typename C::Mail>{});
    add(".checkpoint", std::type_identity<typename C::StateBox>{});
    add(".restore", std::type_identity<typename C::StateBox>{});
}

template <class T>
offload::JobChannels<T> open_job_channels(const Region<>& region, const std::string& task) {
    const std::string name = object_name(task);
    using C = offload::JobChannels<T>;
    return {open_or_refuse<typename C::Mail>(region, name + ".mail"),
            open_or_refuse<typename C::StateBox>(region, name + ".checkpoint"),
            open_or_refuse<typename C::StateBox>(region, name + ".restore")};
}

namespace detail {

// The state lies where the caller says.
template <class T>
struct StepAt : LocalStep {
    explicit StepAt(std::byte* state) : state_(::new (state) typename T::State{}) {}
    // In its place: a state may be larger than a stack.
    void reset() noexcept override { state_ = ::new (static_cast<void*>(state_)) typename T::State{}; }
    void run(const std::byte* in, std::byte* out) noexcept override {
        T::step(*reinterpret_cast<const typename T::In*>(in), *state_,
                *reinterpret_cast<typename T::Out*>(out));
    }
    std::byte* state() noexcept override { return reinterpret_cast<std::byte*>(state_); }
    [[nodiscard]] std::size_t state_bytes() const noexcept override {
        return std::is_empty_v<typename T::State> ? 0 : sizeof(typename T::State);
    }

  private:
    typename T::State* state_;
};

// It lies in the step itself.
template <class T>
struct StateIn {
    alignas(typename T::State) std::array<std::byte, sizeof(typename T::State)> bytes;
};
template <class T>
struct LocalStepOf final : private StateIn<T>, public StepAt<T> {
    LocalStepOf() : StepAt<T>(this->bytes.data()) {}
};

template <class T>
struct RemoteStepOf final : RemoteStep {
    RemoteStepOf(const offload::JobChannels<T>& channels, WorkerControl<>::Master& control, OnMiss policy)
        : master(channels, control, policy) {}
    void begin(const std::byte* in, bool reset) noexcept override {
        master.begin(*reinterpret_cast<const typename T::In*>(in), reset);
    }
    const offload::JobReport& finish(std::byte* out, Ticks deadline, bool (*alive)(const void*),
                                     const void* of) noexcept override {
        return master.finish(*reinterpret_cast<typename T::Out*>(out), deadline, [&] { return alive(of); });
    }
    void state(std::byte* to) noexcept override {
        master.last_state(*reinterpret_cast<typename T::State*>(to));
    }
    void resume(const std::byte* state, const std::byte* out) noexcept override {
        master.resume(*reinterpret_cast<const typename T::State*>(state),
                      *reinterpret_cast<const typename T::Out*>(out));
    }
    void enter(OnMiss policy) noexcept override { master.enter(policy); }
    offload::Master<T, LinuxPort> master;
};

template <class T>
struct ServedStepOf final : ServedStep {
    explicit ServedStepOf(const offload::JobChannels<T>& channels) : server(channels) {}
    Status poll(std::uint32_t kind, ServingWorker& control, offload::ServedJob& served) noexcept override {
        return server.poll(kind, control, [&](const offload::ServedJob& job) { served = job; });
    }
    offload::Server<T, LinuxPort> server;
};

}  // namespace detail

// The substitute for a namespace without constants().
namespace no_constants {
[[maybe_unused]] inline ::consort::detail::NoConstants constants() {
    return {};
}
}  // namespace no_constants

// constants() of a class.
template <class Owner>
struct ConstantsOf {
    static auto make() {
        if constexpr (requires { Owner::constants(); }) {
            return Owner::constants();
        } else {
            return ::consort::detail::NoConstants{};
        }
    }
};

namespace detail {
template <auto Step, class Maker>
constexpr auto task_of() {
    if constexpr (std::is_empty_v<typename Task<Step>::Constants>) {
        return std::type_identity<Task<Step>>{};
    } else {
        return std::type_identity<Task<Step, &Maker::make>>{};
    }
}
}  // namespace detail

// A step's Task with the constants that `Maker::make()` gives, where the step takes some.
template <auto Step, class Maker = void>
using TaskOf = typename decltype(detail::task_of<Step, Maker>())::type;

class Catalogue {
  public:
    // T: consort::Task<&step>, or a struct made of one. `offloaded`: a worker may compute it.
    template <class T, bool offloaded = false>
    void task(const std::string& name) {
        StepEntry entry;
        entry.name = name;
        entry.stand_in = app::is_stand_in<T>;
        entry.in = type_info<typename T::In>();
        entry.state = type_info<typename T::State>();
        entry.out = type_info<typename T::Out>();
        entry.constants = type_info<typename T::Constants>();
        entry.local = []() -> std::unique_ptr<LocalStep> {
            return std::make_unique<detail::LocalStepOf<T>>();
        };
        entry.local_at = [](std::byte* state) -> std::unique_ptr<LocalStep> {
            return std::make_unique<detail::StepAt<T>>(state);
        };
        if constexpr (offloaded) {
            add_offload<T>(entry);
        }
        entry.footprint = {spm::detail::bytes_of<typename T::Constants>,
                           spm::detail::bytes_of<typename T::State>, spm::detail::bytes_of<typename T::In>,
                           spm::detail::bytes_of<typename T::Out>};
        entry.parts = [](const spm::Partition& parts) {
            T::call(*reinterpret_cast<const typename T::Constants*>(parts.code),
                    *reinterpret_cast<const typename T::In*>(parts.inputs),
                    *reinterpret_cast<typename T::State*>(parts.data),
                    *reinterpret_cast<typename T::Out*>(parts.outputs));
        };
        entry.constants_image = []() -> const std::byte* {
            return reinterpret_cast<const std::byte*>(&T::constants());
        };
        entry.fresh_state = [](std::byte* to) {
            const typename T::State fresh{};
            std::memcpy(to, &fresh, std::is_empty_v<typename T::State> ? 0 : sizeof fresh);
        };
        tasks.push_back(std::move(entry));
    }

    // C: MailboxOf, QueueOf, OverLinkOf, SnapshotOf, DoubleBufferOf or VersionsOf a block type.
    template <class C>
    void channel(const std::string& name) {
        using Shared = typename C::Channel;
        channels.push_back({name, type_info<typename C::Block>(),
                            sizeof(typename Shared::Shared) + 2 * std::size_t{line_bytes},
                            Layout<typename Shared::Value>::count + 4,
                            [](RegionMaker<>& maker, const std::string& channel) {
                                const std::string object = object_name(channel);
                                if (const auto added = maker.add<Shared>(object); !added) {
                                    refuse(object, added.refusal());
                                }
                            }});
        if constexpr (is_over_link<C>) {
            channels.back().carrier = &open_carrier<C>;
        }
    }

    // Member: the type at `offset` of the input: C's block, Latest of it, or Batch of it.
    template <class C, class Member>
    void reads(const std::string& task, const std::string& member, const std::string& channel,
               std::size_t offset, std::uint32_t reader = 0) {
        Binding b = binding(task, member, channel, offset, sizeof(Member));
        b.reader = reader;
        b.block_bytes = sizeof(typename C::Block);
        b.latest = app::is_latest<Member>;
        b.end_bytes = sizeof(app::ChannelReader<LinuxPort, C, Member>);
        if constexpr (app::is_batch<Member>) {
            b.batch = Member::capacity;
            b.batch_items = offsetof(Member, items);
        }
        b.open_reader = &open_channel_reader<C, Member, Binding>;
        bindings.push_back(std::move(b));
    }
    template <class C>
    void writes(const std::string& task, const std::string& member, const std::string& channel,
                std::size_t offset) {
        Binding b = binding(task, member, channel, offset, sizeof(typename C::Block));
        b.block_bytes = sizeof(typename C::Block);
        b.end_bytes = sizeof(app::ChannelWriter<LinuxPort, C>);
        b.open_writer = &open_channel_writer<C, Binding>;
        bindings.push_back(std::move(b));
    }
    // A stand-in's ends: numbered blocks that are checked and made.
    template <class C>
    void stand_in_reads(const std::string& task, const std::string& channel, std::uint32_t reader = 0) {
        Binding b = binding(task, "", channel, 0, 0);
        b.reader = reader;
        b.end_bytes = sizeof(app::StandInReader<C>);
        b.open_reader = &open_stand_in_reader<C, Binding>;
        bindings.push_back(std::move(b));
    }
    template <class C>
    void stand_in_writes(const std::string& task, const std::string& channel) {
        Binding b = binding(task, "", channel, 0, 0);
        b.end_bytes = sizeof(app::StandInWriter<LinuxPort, C>);
        b.open_writer = &open_stand_in_writer<C, Binding>;
        bindings.push_back(std::move(b));
    }

    // A recording that fills one member.
    template <class Member>
    void rows(const std::string& task, const std::string& member, std::size_t offset) {
        bindings.push_back(binding(task, member, "", offset, sizeof(Member)));
    }

    // P: consort::Task of the plant's step; period and initial state are the configuration's.
    template <class P>
    void plant(const std::string& name) {
        devices.push_back({name, true,
                           []() -> std::shared_ptr<Device> { return std::make_shared<Plant<P>>(); },
                           type_info<typename P::State>()});
    }
    template <class D>
    void driver(const std::string& name) {
        devices.push_back(
            {name, false, []() -> std::shared_ptr<Device> { return std::make_shared<Driver<D>>(); }, {}});
    }
    // D: Plant<P> or Driver<C>.
    template <class D, class Member>
    void reads_device(const std::string& task, const std::string& member, const std::string& device,
                      std::size_t offset, std::size_t part_offset = 0) {
        Binding b = binding(task, member, device, offset, sizeof(Member));
        b.device = true;
        b.part_offset = static_cast<std::uint32_t>(part_offset);
        b.device_reader = [](Device& of, const Binding& bound) -> std::shared_ptr<ReadSource> {
            return std::make_shared<SourceOf<app::DeviceReader<D, Member>>>(static_cast<D&>(of),
                                                                            bound.part_offset);
        };
        bindings.push_back(std::move(b));
    }
    template <class D, class Member>
    void writes_device(const std::string& task, const std::string& member, const std::string& device,
                       std::size_t offset, std::size_t part_offset = 0) {
        Binding b = binding(task, member, device, offset, sizeof(Member));
        b.device = true;
        b.part_offset = static_cast<std::uint32_t>(part_offset);
        b.device_writer = [](Device& of, const Binding& bound) -> std::shared_ptr<WriteTarget> {
            return std::make_shared<TargetOf<app::DeviceWriter<D, Member>>>(static_cast<D&>(of),
                                                                            bound.part_offset);
        };
        bindings.push_back(std::move(b));
    }

    std::vector<StepEntry> tasks;
    std::vector<ChannelEntry> channels;
    std::vector<Binding> bindings;
    std::vector<DeviceEntry> devices;
    // For a program that is linked with the library of remote memory.
    AttachState attach_state = nullptr;

  private:
    template <class T>
    static void add_offload(StepEntry& entry) {
        using C = offload::JobChannels<T>;
        entry.region_bytes = sizeof(typename C::Mail::Shared) + 2 * sizeof(typename C::StateBox::Shared) +
                             std::size_t{4} * line_bytes;
        entry.region_leaves = Layout<typename T::In>::count + Layout<typename T::Out>::count +
                              2 * Layout<typename T::State>::count + 32;
        entry.add_channels = &add_job_channels<T>;
        entry.master = [](const Region<>& region, const std::string& task, WorkerControl<>::Master& control,
                          OnMiss policy) -> std::unique_ptr<RemoteStep> {
            return std::make_unique<detail::RemoteStepOf<T>>(open_job_channels<T>(region, task), control,
                                                             policy);
        };
        entry.server = [](const Region<>& region, const std::string& task) -> std::unique_ptr<ServedStep> {
            return std::make_unique<detail::ServedStepOf<T>>(open_job_channels<T>(region, task));
        };
    }

    static Binding binding(const std::string& task, const std::string& member, const std::string& source,
                           std::size_t offset, std::size_t bytes) {
        Binding b;
        b.task = task;
        b.member = member;
        b.source = source;
        b.offset = static_cast<std::uint32_t>(offset);
        b.bytes = static_cast<std::uint32_t>(bytes);
        return b;
    }
};

// Executes a configuration and records into the folder `raw`; returns the exit status. `summary`: the memory
// that a watcher looks at, or empty.
struct RunConfig;
using RunProgram = int (*)(const RunConfig& config, const Catalogue& catalogue,
                           const std::filesystem::path& raw, const std::string& summary);
// A process for each core, on this machine's clock.
int run_on_this_machine(const RunConfig& config, const Catalogue& catalogue, const std::filesystem::path& raw,
                        const std::string& summary);
// All steps in one thread of one process, on a clock of its own (ports/virtual). It is over before anybody
// could watch: a summary is refused.
int run_in_virtual_time(const RunConfig& config, const Catalogue& catalogue, const std::filesystem::path& raw,
                        const std::string& summary);

// The program: `--describe` prints the layouts; `--config FILE --raw FOLDER` runs and records;
// `--config FILE --raw FOLDER --replay` computes the recorded jobs' outputs in logical order, and with
// `--complete` a record is completed that a run left whose processes were killed.
// Exit statuses: 0 the run is complete and recorded, 1 it was ended by a policy, a lost process or the time
// bound, 2 bad input, 3 the machine lacks something.
int executive(int argc, char** argv, const Catalogue& catalogue, RunProgram run = &run_on_this_machine);
// The same of a program that knows its application from a plan image: that of the configuration, with
// --describe the one that `--image FILE` names; without one it describes what it has for all of them.
using CatalogueOf = Catalogue (*)(const std::string& image);
int executive(int argc, char** argv, CatalogueOf catalogue, RunProgram run);

}  // namespace consort::linux_port
