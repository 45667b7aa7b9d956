// SPDX-License-Identifier: Apache-2.0
//
// What a machine in virtual time runs, from the configuration that `consort run` writes: the members of
// virtual_time::System and Settings by their names, times in ticks.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "consort/linux/executive/config.hpp"
#include "consort/virtual/system.hpp"

namespace consort::linux_port {

struct VirtualSystem {
    virtual_time::System system;  // where no modes change
    virtual_time::Modes modes;
    virtual_time::Settings settings;
    std::uint64_t ticks_per_second = 0;
};

namespace detail {

inline virtual_time::Core read_virtual_core(const nlohmann::json& given, const std::string& where) {
    virtual_time::Core core;
    core.kind = named<virtual_time::CoreKind>(given, "kind", where,
                                              {{"releasing", virtual_time::CoreKind::releasing},
                                               {"worker", virtual_time::CoreKind::worker},
                                               {"three-phase", virtual_time::CoreKind::three_phase}});
    core.policy =
        named<app::Dispatch>(given, "policy", where,
                             {{"fixed-priority", app::Dispatch::fixed_priority},
                              {"fixed-priority-non-preemptive", app::Dispatch::fixed_priority_non_preemptive},
                              {"edf", app::Dispatch::edf}});
    core.context_switch = required<app::Time>(given, "context_switch", where);
    core.spins = required<bool>(given, "spins", where);
    core.oldest_first = required<bool>(given, "oldest_first", where);
    core.dma = required<std::uint32_t>(given, "dma", where);
    core.slot = required<app::Time>(given, "slot", where);
    return core;
}

inline virtual_time::Task read_virtual_task(const nlohmann::json& given, const std::string& where,
                                            std::uint32_t id) {
    virtual_time::Task task;
    task.plan.id = id;
    task.plan.on_miss = named<OnMiss>(given, "on_miss", where,
                                      {{"hold-last-output", OnMiss::hold_last_output},
                                       {"local-fallback", OnMiss::local_fallback},
                                       {"stop", OnMiss::stop}});
    for (const auto& [key, time] : std::initializer_list<std::pair<const char*, app::Time*>>{
             {"period", &task.plan.release.period},
             {"extra_gap", &task.plan.release.extra_gap},
             {"offset", &task.plan.release.offset},
             {"jitter", &task.plan.release.jitter},
             {"bcet", &task.plan.execution.best},
             {"wcet", &task.plan.execution.worst},
             {"deadline", &task.plan.deadline},
             {"suspension", &task.plan.suspension},
             {"give_up", &task.plan.give_up},
             {"send", &task.plan.send},
             {"receive", &task.plan.receive},
             {"fallback", &task.plan.fallback},
             {"request", &task.request},
             {"response", &task.response},
             {"load", &task.load},
             {"unload", &task.unload}}) {
        *time = required<app::Time>(given, key, where);
    }
    task.plan.release.distances = read_distances(given, "distances", where);
    for (const auto& [key, flag] :
         std::initializer_list<std::pair<const char*, bool*>>{{"offloaded", &task.plan.offloaded},
                                                              {"skips", &task.plan.skips},
                                                              {"one_in_flight", &task.one_in_flight},
                                                              {"rests", &task.rests},
                                                              {"until_deadline", &task.until_deadline}}) {
        *flag = required<bool>(given, key, where);
    }
    task.plan.rank = required<std::uint32_t>(given, "rank", where);
    task.plan.threshold = required<std::uint32_t>(given, "threshold", where);
    task.worker_rank = required<std::uint32_t>(given, "worker_rank", where);
    task.core = required<std::uint32_t>(given, "core", where);
    task.master = required<std::uint32_t>(given, "master", where);
    if (given.contains("arrival")) {
        const auto arrival = required<nlohmann::json>(given, "arrival", where);
        task.arrival = {required<std::uint32_t>(arrival, "writer", where + ".arrival"),
                        required<bool>(arrival, "let", where + ".arrival")};
    }
    return task;
}

inline virtual_time::System read_virtual_parts(const nlohmann::json& given, const std::string& where) {
    virtual_time::System system;
    const auto list = [&](const char* key, auto&& take) {
        const auto parts = required<nlohmann::json>(given, key, where);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            take(parts[i], where + "." + key + "[" + std::to_string(i) + "]", static_cast<std::uint32_t>(i));
        }
    };
    list("cores", [&](const nlohmann::json& part, const std::string& at, std::uint32_t /*id*/) {
        system.cores.push_back(read_virtual_core(part, at));
    });
    list("dmas", [&](const nlohmann::json& part, const std::string& at, std::uint32_t /*id*/) {
        system.dmas.push_back({required<bool>(part, "round_robin", at)});
    });
    list("tasks", [&](const nlohmann::json& part, const std::string& at, std::uint32_t id) {
        system.tasks.push_back(read_virtual_task(part, at, id));
    });
    return system;
}

}  // namespace detail

// Throws std::invalid_argument with the key that is wrong.
inline VirtualSystem read_virtual_system(const nlohmann::json& given) {
    using detail::required;
    const std::string where = "virtual_time";
    const auto spread = [&](const char* key) {
        return detail::named<app::Spread>(given, key, where,
                                          {{"worst", app::Spread::worst},
                                           {"uniform", app::Spread::uniform},
                                           {"edges", app::Spread::edges}});
    };
    VirtualSystem read;
    read.ticks_per_second = required<std::uint64_t>(given, "ticks_per_second", where);
    read.settings = {required<app::Time>(given, "duration", where),
                     required<std::uint64_t>(given, "seed", where), spread("execution"), spread("arrival")};
    if (!given.contains("modes")) {
        read.system = detail::read_virtual_parts(given, where);
        return read;
    }
    for (const auto& mode : required<nlohmann::json>(given, "modes", where)) {
        read.modes.modes.push_back(detail::read_virtual_parts(mode, where + ".modes"));
    }
    read.modes.first = required<std::uint32_t>(given, "first", where);
    read.modes.agreement = required<app::Time>(given, "agreement", where);
    for (const auto& request : required<nlohmann::json>(given, "requests", where)) {
        read.modes.requests.push_back({required<app::Time>(request, "at", where + ".requests"),
                                       required<std::uint32_t>(request, "to", where + ".requests")});
    }
    return read;
}

}  // namespace consort::linux_port
