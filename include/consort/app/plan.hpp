// SPDX-License-Identifier: Apache-2.0
//
// The plan image: all that a core needs to run its part of a plan, as plain data. One encoder writes it
// (python/consort/plan/image.py), from the layouts that a program describes. A program maps it, is linked
// with it, or reads it; one of another version, of other layouts, or of another program's is refused.
//
// A head, then the tables that it names, each 8-byte aligned. Rows refer to others by their places. Cores and
// tasks stand in one table each, mode after mode, in the order of the description and as many in each mode;
// what rests in a mode says so. Nothing of a mode is taken from another one.
//
// Times are ticks of the head's rate. Urgency is a rank everywhere: 0 is the most urgent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "consort/app/release.hpp"
#include "consort/icc/layout.hpp"
#include "consort/task/miss_policy.hpp"

namespace consort::app::plan {

inline constexpr std::uint32_t magic = 0x4e4c5043;  // "CPLN"
inline constexpr std::uint32_t version = 3;
// No core, task or channel.
inline constexpr std::uint32_t none = 0xffffffffU;

// Some rows of a table, one after another.
struct Rows {
    std::uint32_t first;
    std::uint32_t count;
};

enum class Policy : std::uint8_t { fixed_priority, fixed_priority_non_preemptive, edf, worker, three_phase };
// The master's way of waiting for an answer.
enum class Wait : std::uint8_t { spin, sleep };
// Which request a worker serves next.
enum class Service : std::uint8_t { by_rank, oldest_first };
enum class Arbitration : std::uint8_t { tdma, round_robin };
// What the scratchpad kernel does about a job that executes longer than its task's WCET.
enum class OnOverrun : std::uint8_t {
    unwatched,  // nothing: it does not look
    report,     // the job goes on
    stop_job,   // the core is ordered to leave it; what it computed is dropped
    stop_task,  // and the task is not released again
};
// And about a job whose unload has not ended at its deadline, which is reported each time.
enum class OnLate : std::uint8_t {
    report,     // the job goes on
    drop,       // a job not loaded yet is given up; one in flight goes on
    stop_task,  // the task is not released again
};
enum class ChannelKind : std::uint8_t { mailbox, queue, snapshot, double_buffer, versions };

// How long a run releases jobs, and what it chooses by.
struct Run {
    Time duration;
    std::uint64_t seed;
    Spread execution;
    Spread arrival;
};

// One core in one mode.
struct Core {
    Time context_switch;
    Time slot;          // of a three-phase core: its turn of the DMA
    std::uint32_t dma;  // and which
    Policy policy;
    Wait wait;
    Service service;
};

// The DMA engine that three-phase cores share. Under TDMA their slots follow one another in the order of the
// cores, the first one at 0.
struct Dma {
    Arbitration arbitration;
};

// One task in one mode.
struct Task {
    std::uint32_t core;    // releases it
    std::uint32_t worker;  // computes it; none: the core itself
    std::uint32_t rank;
    // A job that has begun is preempted only by tasks of a rank below this one, at most the task's own.
    std::uint32_t threshold;
    std::uint32_t worker_rank;
    std::uint32_t arrival;  // the channel whose blocks release it; none: time does
    Rows distances;         // times: from a release to the next, the one after that, …, at least
    Rows ends;
    Time period;  // or the least time between releases
    Time extra_gap;
    Time offset;
    Time jitter;
    Time deadline;
    Time bcet;  // where it is computed
    Time wcet;
    Time suspension;  // for so long a job suspends itself at most
    Time give_up;     // how long after the release an answer is awaited
    Time send;        // computed by the master, before the request
    Time receive;     // and after the answer
    Time fallback;    // the master's own execution, where it computes the step itself
    Time request;     // on the way to the worker
    Time response;    // and back
    Time load;        // three-phase; 0: the slot's length
    Time unload;
    OnMiss on_miss;
    OnOverrun on_overrun;  // three-phase
    OnLate on_late;
    bool on_request;  // three-phase: a job is released when it is asked for, a period after the last at least
    bool rests;       // no job is released in this mode
    // A job that could begin only after release + max(period, deadline) is not begun.
    bool skips;
    bool one_in_flight;   // three-phase: a job is loaded when the one before is unloaded
    bool until_deadline;  // its output is there at its deadline: it is over no earlier when a mode is left
    bool checkpoint;      // each job leaves what another core goes on from if this one dies
};

// Another core than the one that releases it computes it.
[[nodiscard]] constexpr bool offloaded(const Task& task) noexcept {
    return task.worker != none;
}

// A task's end of a channel.
struct End {
    std::uint32_t channel;
    std::uint32_t reader;  // which of its readers; none: the task writes it
};

// The same in all modes; a task that rests has no ends.
struct Channel {
    Time device_period;      // of a device that is only described: how often it writes; 0: a task does
    std::uint32_t capacity;  // blocks that it holds; 0: as its kind has it
    std::uint32_t bytes;     // of a block; 0: as large as its type
    ChannelKind kind;
    bool let;  // a block is there at its job's deadline, and is read as of a release
};

// A device that acts by itself in its own logical time, or as a driver has it: the same in all modes.
struct Device {
    Time period;  // of a plant's step; 0: it has none
};

struct Request {
    Time at;
    std::uint32_t to;
};

// A core whose death asks for a mode.
struct FailOver {
    std::uint32_t core;
    std::uint32_t to;
};

// The tables, in the order in which they stand in the head.
enum class Table : std::uint8_t {
    cores,
    tasks,
    dmas,
    ends,
    channels,
    devices,
    requests,
    fail_overs,
    times,
    names
};
inline constexpr std::size_t tables = 10;

// Where a table stands.
struct Place {
    std::uint32_t offset;  // from the head's first byte
    std::uint32_t count;
};

struct Head {
    std::uint32_t magic;
    std::uint32_t version;
    std::uint64_t layout;   // what `layout` below is where the image was made for
    std::uint64_t program;  // of its names: see Names
    std::uint64_t hash;     // of all bytes that follow the head
    std::uint64_t bytes;    // of the whole image
    std::uint64_t ticks_per_second;
    Run run;
    std::uint32_t modes;  // at least one
    std::uint32_t first;
    std::uint32_t cores;  // in each mode
    std::uint32_t tasks;
    Time agreement;  // from the idle instant of a mode to the releases of the next
    Time detection;  // from a core's last sign of life until it is known to be dead; 0: nobody looks
    Place places[tables];
};

// Calls f(name, type) for the head and for the rows of each table, in order.
template <class F>
constexpr void each_row(F&& f) {
    f(std::string_view("head"), std::type_identity<Head>{});
    f(std::string_view("cores"), std::type_identity<Core>{});
    f(std::string_view("tasks"), std::type_identity<Task>{});
    f(std::string_view("dmas"), std::type_identity<Dma>{});
    f(std::string_view("ends"), std::type_identity<End>{});
    f(std::string_view("channels"), std::type_identity<Channel>{});
    f(std::string_view("devices"), std::type_identity<Device>{});
    f(std::string_view("requests"), std::type_identity<Request>{});
    f(std::string_view("fail_overs"), std::type_identity<FailOver>{});
    f(std::string_view("times"), std::type_identity<Time>{});
    f(std::string_view("names"), std::type_identity<std::uint8_t>{});
}

// The names of the values of each member that has such, as a description has them: f(member, names).
template <class F>
constexpr void each_choice(F&& f) {
    constexpr std::array<std::string_view, 5> policies = {"fixed-priority", "fixed-priority-non-preemptive",
                                                          "edf", "worker", "three-phase"};
    constexpr std::array<std::string_view, 2> waits = {"spin", "sleep"};
    constexpr std::array<std::string_view, 2> services = {"priority", "fifo"};
    constexpr std::array<std::string_view, 2> arbitrations = {"tdma", "round-robin"};
    constexpr std::array<std::string_view, 5> kinds = {"mailbox", "queue", "snapshot", "double-buffer",
                                                       "versions"};
    constexpr std::array<std::string_view, 3> on_miss = {"hold-last-output", "local-fallback", "stop"};
    constexpr std::array<std::string_view, 4> on_overrun = {"unwatched", "report", "stop-job", "stop-task"};
    constexpr std::array<std::string_view, 3> on_late = {"report", "drop", "stop-task"};
    constexpr std::array<std::string_view, 3> spreads = {"worst", "uniform", "edges"};
    f(std::string_view("policy"), policies);
    f(std::string_view("wait"), waits);
    f(std::string_view("service"), services);
    f(std::string_view("arbitration"), arbitrations);
    f(std::string_view("kind"), kinds);
    f(std::string_view("on_miss"), on_miss);
    f(std::string_view("on_overrun"), on_overrun);
    f(std::string_view("on_late"), on_late);
    f(std::string_view("run.execution"), spreads);
    f(std::string_view("run.arrival"), spreads);
}

// FNV-1a, 64 bits.
class Hash {
  public:
    constexpr void add(std::uint8_t byte) noexcept { value_ = (value_ ^ byte) * 0x100000001b3U; }
    constexpr void add(std::string_view text) noexcept {
        for (const char c : text) {
            add(static_cast<std::uint8_t>(c));
        }
    }
    void add(const std::byte* from, std::size_t bytes) noexcept {
        for (std::size_t i = 0; i < bytes; ++i) {
            add(static_cast<std::uint8_t>(from[i]));
        }
    }
    [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }

  private:
    std::uint64_t value_ = 0xcbf29ce484222325U;
};

// The identity of a program: the names of its tasks, then of its channels, each in their order, as they stand
// in the table of names: a letter for the kind, the name, a zero. An image without names has their hash.
class Names {
  public:
    static constexpr char of_task = 't';
    static constexpr char of_channel = 'c';
    constexpr void add(char kind, std::string_view name) noexcept {
        hash_.add(static_cast<std::uint8_t>(kind));
        hash_.add(name);
        hash_.add(std::uint8_t{0});
    }
    [[nodiscard]] constexpr std::uint64_t value() const noexcept { return hash_.value(); }

  private:
    Hash hash_;
};

// The layout of all rows, as this program's compiler has them.
inline constexpr std::uint64_t layout = [] {
    std::uint64_t value = 0;
    each_row([&]<class Row>(std::string_view, std::type_identity<Row>) {
        static_assert(std::is_trivially_copyable_v<Row> && alignof(Row) <= 8);
        value = value * 31 + Layout<Row>::fingerprint;
    });
    return value;
}();

enum class Refused : std::uint8_t { no, not_an_image, version, layout, damaged, program };

[[nodiscard]] constexpr const char* to_string(Refused why) noexcept {
    switch (why) {
        case Refused::no:
            return "";
        case Refused::not_an_image:
            return "this is not a plan image";
        case Refused::version:
            return "the plan image has another version than this program reads";
        case Refused::layout:
            return "the plan image was made for a program whose tables are laid out otherwise";
        case Refused::damaged:
            return "the plan image is damaged: its length or its hash is wrong";
        case Refused::program:
            return "the plan image is of another program: its tasks and channels are not this one's";
    }
    return "";
}

// An image in memory that outlives it, 8-byte aligned.
class Image {
  public:
    Image() = default;

    // An image that the program's maker wrote for it: nothing is looked at.
    [[nodiscard]] static Image trusted(const std::byte* from) noexcept {
        Image image;
        image.from_ = from;
        return image;
    }
    // `program`: what this program is known by; 0: any. What rows refer to is another question: see
    // `wrong_reference`.
    [[nodiscard]] static Refused open(const std::byte* from, std::size_t bytes, std::uint64_t program,
                                      Image& image) noexcept {
        Head head;
        if (bytes < sizeof head) {
            return Refused::not_an_image;
        }
        std::memcpy(&head, from, sizeof head);
        if (head.magic != magic) {
            return Refused::not_an_image;
        }
        if (head.version != version) {
            return Refused::version;
        }
        if (head.layout != layout) {
            return Refused::layout;
        }
        Hash hash;
        hash.add(from + sizeof head, bytes - sizeof head);
        if (head.bytes != bytes || head.hash != hash.value()) {
            return Refused::damaged;
        }
        bool inside = true;
        std::size_t table = 0;
        each_row([&]<class Row>(std::string_view, std::type_identity<Row>) {
            if constexpr (!std::is_same_v<Row, Head>) {
                const Place& place = head.places[table++];
                inside = inside && place.offset % 8 == 0 && place.offset <= bytes &&
                         place.count <= (bytes - place.offset) / sizeof(Row);
            }
        });
        if (!inside) {
            return Refused::damaged;
        }
        if (program != 0 && head.program != program) {
            return Refused::program;
        }
        image.from_ = from;
        return Refused::no;
    }

    [[nodiscard]] const Head& head() const noexcept { return *reinterpret_cast<const Head*>(from_); }
    [[nodiscard]] std::uint32_t count(Table table) const noexcept { return place(table).count; }

    [[nodiscard]] const Core& core(std::uint32_t mode, std::uint32_t core) const noexcept {
        return rows<Core>(Table::cores)[mode * head().cores + core];
    }
    [[nodiscard]] const Task& task(std::uint32_t mode, std::uint32_t task) const noexcept {
        return rows<Task>(Table::tasks)[mode * head().tasks + task];
    }
    [[nodiscard]] const Dma& dma(std::uint32_t i) const noexcept { return rows<Dma>(Table::dmas)[i]; }
    [[nodiscard]] const End& end(std::uint32_t i) const noexcept { return rows<End>(Table::ends)[i]; }
    [[nodiscard]] const Channel& channel(std::uint32_t i) const noexcept {
        return rows<Channel>(Table::channels)[i];
    }
    [[nodiscard]] const Device& device(std::uint32_t i) const noexcept {
        return rows<Device>(Table::devices)[i];
    }
    [[nodiscard]] const FailOver& fail_over(std::uint32_t i) const noexcept {
        return rows<FailOver>(Table::fail_overs)[i];
    }
    [[nodiscard]] const Request& request(std::uint32_t i) const noexcept {
        return rows<Request>(Table::requests)[i];
    }
    [[nodiscard]] const Time& time(std::uint32_t i) const noexcept { return rows<Time>(Table::times)[i]; }
    // The table of names.
    [[nodiscard]] std::string_view names() const noexcept {
        return {reinterpret_cast<const char*>(rows<std::uint8_t>(Table::names)), count(Table::names)};
    }

  private:
    [[nodiscard]] const Place& place(Table table) const noexcept {
        return head().places[static_cast<std::size_t>(table)];
    }
    template <class Row>
    [[nodiscard]] const Row* rows(Table table) const noexcept {
        return reinterpret_cast<const Row*>(from_ + place(table).offset);
    }

    const std::byte* from_ = nullptr;
};

// The first thing that an image refers to and has not, in words; null: none. Before it is followed.
[[nodiscard]] inline const char* wrong_reference(const Image& image) noexcept {
    const Head& head = image.head();
    const auto inside = [](const Rows& rows, std::uint32_t count) {
        return rows.first <= count && rows.count <= count - rows.first;
    };
    if (head.modes == 0 || head.first >= head.modes) {
        return "it has no mode, or not the one that it begins with";
    }
    if (image.count(Table::cores) != std::uint64_t{head.modes} * head.cores ||
        image.count(Table::tasks) != std::uint64_t{head.modes} * head.tasks) {
        return "it has not the same cores and tasks in each mode";
    }
    for (std::uint32_t i = 0; i < image.count(Table::cores); ++i) {
        const Core& core = image.core(0, i);
        if (core.policy == Policy::three_phase && core.dma >= image.count(Table::dmas)) {
            return "it refers to a DMA engine that it has not";
        }
    }
    for (std::uint32_t i = 0; i < image.count(Table::tasks); ++i) {
        const Task& task = image.task(0, i);
        if (task.core >= head.cores || (task.worker != none && task.worker >= head.cores)) {
            return "it refers to cores that it has not";
        }
        if (!inside(task.distances, image.count(Table::times)) || task.distances.count > Distances::most) {
            return "a task has too many distances, or refers to times that it has not";
        }
        if (!inside(task.ends, image.count(Table::ends))) {
            return "it refers to ends of channels that it has not";
        }
        if (task.arrival != none && task.arrival >= image.count(Table::channels)) {
            return "it refers to channels that it has not";
        }
    }
    for (std::uint32_t i = 0; i < image.count(Table::ends); ++i) {
        if (image.end(i).channel >= image.count(Table::channels)) {
            return "it refers to channels that it has not";
        }
    }
    for (std::uint32_t i = 0; i < image.count(Table::requests); ++i) {
        if (image.request(i).to >= head.modes) {
            return "a request is for a mode that it has not";
        }
    }
    for (std::uint32_t i = 0; i < image.count(Table::fail_overs); ++i) {
        if (image.fail_over(i).core >= head.cores || image.fail_over(i).to >= head.modes) {
            return "a fail-over is of a core or for a mode that it has not";
        }
    }
    return nullptr;
}

// The image outlives them.
[[nodiscard]] inline Distances distances_of(const Image& image, const Task& task) noexcept {
    if (task.distances.count == 0) {
        return {};
    }
    return {&image.time(task.distances.first), task.distances.count};
}

// When a task is released, from the first job of a mode on: by time, as far as the plan says it. The image
// outlives the rule.
[[nodiscard]] inline ReleaseRule release_of(const Image& image, const Task& task) noexcept {
    ReleaseRule rule;
    rule.period = task.period;
    rule.extra_gap = task.extra_gap;
    rule.offset = task.offset;
    rule.jitter = task.jitter;
    rule.distances = distances_of(image, task);
    return rule;
}

}  // namespace consort::app::plan
