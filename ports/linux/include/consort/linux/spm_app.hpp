// SPDX-License-Identifier: Apache-2.0
//
// The program that `consort run` makes of a three-phase system: its steps as tasks of the kernel, its
// recording, and its check.
//
// `application --config FILE --raw FOLDER`; `application --describe` prints the sizes of each task's parts.
// Every output that a job delivers is held against the same steps executed in a row in main memory, from the
// same inputs: a byte that was lost on the way through the scratchpad shows. Bytes that a step leaves as they
// were (padding) are not compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "consort/linux/recorder.hpp"
#include "consort/linux/spm_machine.hpp"
#include "consort/spm.hpp"

namespace consort::linux_port {

namespace detail {

// Every task's state and constants, and what its jobs brought: a job is a plain function.
template <class T>
struct SpmImage {
    alignas(64) static inline typename T::Constants constants{};
    alignas(64) static inline typename T::State state{};
    alignas(64) static inline typename T::Out out{};

    static void job(const spm::Partition& parts) { T::run(parts); }

    // How many of the outputs, job by job, differ from those of the same steps in a row.
    static std::vector<bool> wrong(const std::vector<std::byte>& inputs,
                                   const std::vector<std::uint32_t>& rows,
                                   const std::vector<std::byte>& outputs) {
        using Out = typename T::Out;
        using In = typename T::In;
        static In in;
        // What a step does not write stays as it was: unlike in these two.
        static Out low, high;
        static typename T::State first, second;
        first = {};
        second = {};
        std::vector<bool> found;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if constexpr (!std::is_empty_v<In>) {
                std::memcpy(static_cast<void*>(&in), inputs.data() + rows[i] * sizeof in, sizeof in);
            }
            std::memset(static_cast<void*>(&low), 0, sizeof low);
            std::memset(static_cast<void*>(&high), 0xff, sizeof high);
            T::call(constants, in, first, low);
            T::call(constants, in, second, high);
            bool differs = false;
            if constexpr (!std::is_empty_v<Out>) {
                const auto* a = reinterpret_cast<const std::byte*>(&low);
                const auto* b = reinterpret_cast<const std::byte*>(&high);
                const std::byte* seen = outputs.data() + i * sizeof(Out);
                for (std::size_t k = 0; k < sizeof(Out); ++k) {
                    const bool left = a[k] == std::byte{0} && b[k] == std::byte{0xff};
                    differs = differs || (!left && (a[k] != b[k] || a[k] != seen[k]));
                }
            }
            found.push_back(differs);
        }
        return found;
    }
};

struct SpmKind {
    const char* name;
    spm::Footprint size;
    const std::byte* constants;
    std::byte* state;
    std::byte* out;
    JobFunction job;
    std::vector<bool> (*wrong)(const std::vector<std::byte>&, const std::vector<std::uint32_t>&,
                               const std::vector<std::byte>&);
};

template <class T>
SpmKind spm_kind() {
    if constexpr (!std::is_empty_v<typename T::Constants>) {
        SpmImage<T>::constants = T::Owner::constants();
    }
    return {T::name,
            T::footprint,
            reinterpret_cast<const std::byte*>(&SpmImage<T>::constants),
            reinterpret_cast<std::byte*>(&SpmImage<T>::state),
            reinterpret_cast<std::byte*>(&SpmImage<T>::out),
            &SpmImage<T>::job,
            &SpmImage<T>::wrong};
}

// What one task's jobs were given and gave.
struct SpmRows {
    std::vector<std::byte> inputs;
    std::uint32_t rows = 1;
    std::uint32_t next = 0;
    // A task's jobs are loaded and unloaded in one order.
    std::vector<std::uint32_t> loaded;
    std::vector<std::byte> outputs;
    std::size_t delivered = 0;
    std::size_t room = 0;
};

inline std::vector<std::byte> spm_read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (!file && !file.eof()) {
        throw std::runtime_error("cannot read " + path);
    }
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    return {begin, begin + bytes.size()};
}

struct SpmRecord {
    std::uint64_t release, start, sent, received, finish, compute, load, ready, executed, unload;
    std::uint32_t seq, status;
};
static_assert(sizeof(SpmRecord) == 88);

// Something after which the bounds do not apply until the core has been idle.
struct SpmDisturbance {
    std::uint64_t at;
    std::uint32_t core, kind;
};

inline bool disturbs(spm::Kind kind) {
    switch (kind) {
        case spm::Kind::slot_missed:
        case spm::Kind::slot_overrun:
        case spm::Kind::dma_error:
        case spm::Kind::dma_stuck:
        case spm::Kind::release_lost:
        case spm::Kind::execution_overrun:
            return true;
        default:
            return false;
    }
}

inline constexpr std::uint32_t spm_missed = 1U << 0U;
inline constexpr std::uint32_t spm_wrong = 1U << 5U;

inline void spm_write(const std::string& path, const void* data, std::size_t bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    file.flush();
    if (!file) {
        throw std::runtime_error("cannot write " + path);
    }
}

inline int spm_run(const std::vector<SpmKind>& kinds, const nlohmann::json& config, const std::string& raw) {
    using nlohmann::json;
    const Ticks duration = Clock::from_ns(config.at("duration_ns").get<std::uint64_t>());
    SpmOptions options;
    options.arbitration =
        config.at("arbitration") == "round-robin" ? spm::Arbitration::round_robin : spm::Arbitration::tdma;
    options.realtime = config.at("realtime").get<bool>();
    std::vector<std::vector<SpmTask>> cores;
    std::vector<std::vector<std::size_t>> kind_of;
    std::vector<SpmRows> rows(kinds.size());
    std::size_t jobs = 0;
    for (const json& core : config.at("cores")) {
        options.slots.push_back(Clock::from_ns(core.at("slot_ns").get<std::uint64_t>()));
        std::vector<SpmTask>& list = cores.emplace_back();
        std::vector<std::size_t>& of = kind_of.emplace_back();
        for (const json& told : core.at("tasks")) {
            const auto kind = told.at("kind").get<std::size_t>();
            const SpmKind& k = kinds.at(kind);
            SpmTask task;
            task.name = k.name;
            task.task.period = Clock::from_ns(told.at("period_ns").get<std::uint64_t>());
            task.task.deadline = Clock::from_ns(told.at("deadline_ns").get<std::uint64_t>());
            task.task.offset = Clock::from_ns(told.at("offset_ns").get<std::uint64_t>());
            task.task.budget = Clock::from_ns(told.at("budget_ns").get<std::uint64_t>());
            task.task.size = k.size;
            task.task.code = k.size.code != 0 ? k.constants : nullptr;
            task.task.data = k.size.data != 0 ? k.state : nullptr;
            task.job = k.job;
            list.push_back(task);
            of.push_back(kind);
            SpmRows& r = rows[kind];
            r.inputs = spm_read(told.at("input_file").get<std::string>());
            const std::size_t in = k.size.inputs;
            if (in != 0 && (r.inputs.empty() || r.inputs.size() % in != 0)) {
                throw std::runtime_error(std::string(k.name) + ": its inputs are no whole number of rows");
            }
            r.rows = in != 0 ? static_cast<std::uint32_t>(r.inputs.size() / in) : 1;
            r.room = static_cast<std::size_t>(duration / task.task.period) + 8;
            r.outputs.assign(r.room * k.size.outputs, std::byte{0});
            r.loaded.reserve(r.room);
            jobs += r.room;
        }
    }
    options.records = jobs * 32 + 4 * static_cast<std::size_t>(duration / options.slots.front()) + 1024;
    SpmMachine machine(cores, options);
    machine.connect(
        [&](std::uint32_t c, std::uint32_t t) -> const std::byte* {
            SpmRows& r = rows[kind_of[c][t]];
            const std::uint32_t row = r.next;
            r.next = row + 1 == r.rows ? 0 : row + 1;
            if (r.loaded.size() < r.room) {
                r.loaded.push_back(row);
            }
            return r.inputs.data() + static_cast<std::size_t>(row) * kinds[kind_of[c][t]].size.inputs;
        },
        [&](std::uint32_t c, std::uint32_t t) { return kinds[kind_of[c][t]].out; },
        [&](std::uint32_t c, std::uint32_t t) {
            SpmRows& r = rows[kind_of[c][t]];
            const SpmKind& k = kinds[kind_of[c][t]];
            if (r.delivered < r.room && k.size.outputs != 0) {
                std::memcpy(r.outputs.data() + r.delivered * k.size.outputs, k.out, k.size.outputs);
            }
            ++r.delivered;
        });
    const SpmRun run = machine.run(duration);

    json tables = json::object();
    json events = json::object();
    for (std::uint32_t kind = 0; kind < static_cast<std::uint32_t>(spm::Kind::count); ++kind) {
        std::size_t n = 0;
        for (const spm::Event& e : run.events) {
            n += static_cast<std::uint32_t>(e.kind) == kind ? 1 : 0;
        }
        events[spm::to_string(static_cast<spm::Kind>(kind))] = n;
    }
    std::vector<SpmDisturbance> disturbances;
    for (const spm::Event& e : run.events) {
        if (disturbs(e.kind)) {
            disturbances.push_back({e.at, e.core, static_cast<std::uint32_t>(e.kind)});
        }
    }
    spm_write(raw + "/disturbances", disturbances.data(), disturbances.size() * sizeof(SpmDisturbance));
    for (std::size_t c = 0; c < cores.size(); ++c) {
        for (std::size_t t = 0; t < cores[c].size(); ++t) {
            const std::size_t kind = kind_of[c][t];
            SpmRows& r = rows[kind];
            r.loaded.resize(std::min({r.loaded.size(), r.delivered, r.room}));
            const std::vector<bool> wrong = kinds[kind].wrong(r.inputs, r.loaded, r.outputs);
            std::vector<SpmRecord> records;
            std::size_t done = 0;
            for (const spm::JobRecord& j : run.jobs) {
                if (j.core != c || j.task != t) {
                    continue;
                }
                std::uint32_t status = j.end - j.release > cores[c][t].task.deadline ? spm_missed : 0;
                if (j.outcome == spm::Outcome::done) {
                    // A job whose outputs were not kept cannot be shown to be right.
                    status |= done >= wrong.size() || wrong[done] ? spm_wrong : 0;
                    ++done;
                }
                records.push_back({j.release, j.start, 0, 0, j.end, j.finish - j.start, j.load, j.ready,
                                   j.finish, j.unload, j.job, status});
            }
            spm_write(raw + "/" + std::to_string(kind) + ".jobs", records.data(),
                      records.size() * sizeof(SpmRecord));
            tables[std::to_string(kind)] = {{"rows", records.size()}, {"delivered", r.delivered}};
        }
    }
    Ticks longest_step = 0;
    for (const Ticks step : run.steps) {
        longest_step = std::max(longest_step, step);
    }
    const json result{{"clock", to_json(Clock::info())},
                      {"start", run.start},
                      {"cpus", run.cpus},
                      {"notes", run.notes},
                      {"events", events},
                      {"records_lost", run.records_lost},
                      {"longest_step", longest_step},
                      {"record_bytes", sizeof(SpmRecord)},
                      {"tasks", tables}};
    const std::string text = result.dump(1);
    spm_write(raw + "/result.json", text.data(), text.size());
    return 0;
}

}  // namespace detail

// `Tasks`: spm::ThreePhase with a name, `Owner` (the class of the step, which has constants() where the step
// takes some) and `call`, the step itself. Exit status 1: the run broke off; 2: the configuration; 3: too few
// processors.
template <class... Tasks>
int spm_application(int argc, char** argv) {
    std::string config;
    std::string raw;
    bool describe = false;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        describe = describe || word == "--describe";
        if (i + 1 < argc && (word == "--config" || word == "--raw")) {
            (word == "--config" ? config : raw) = argv[++i];
        }
    }
    try {
        const std::vector<detail::SpmKind> kinds{detail::spm_kind<Tasks>()...};
        if (describe) {
            nlohmann::json list = nlohmann::json::array();
            for (const detail::SpmKind& k : kinds) {
                list.push_back({{"name", k.name},
                                {"constants", k.size.code},
                                {"state", k.size.data},
                                {"inputs", k.size.inputs},
                                {"outputs", k.size.outputs}});
            }
            std::printf("%s\n", list.dump().c_str());
            return 0;
        }
        if (config.empty() || raw.empty()) {
            std::fprintf(stderr, "usage: application --describe | --config FILE --raw FOLDER\n");
            return 2;
        }
        return detail::spm_run(kinds, nlohmann::json::parse(std::ifstream(config)), raw);
    } catch (const TooFewProcessors& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 3;
    } catch (const nlohmann::json::exception& e) {
        std::fprintf(stderr, "%s: %s\n", config.c_str(), e.what());
        return 2;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}

}  // namespace consort::linux_port
