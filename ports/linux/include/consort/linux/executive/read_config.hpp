// SPDX-License-Identifier: Apache-2.0
//
// Reads the configuration of a run: a JSON file that `consort run` writes from the plan.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "consort/app/spacing.hpp"
#include "consort/linux/executive/config.hpp"

namespace consort::linux_port {

namespace detail {

template <class V>
V required(const nlohmann::json& object, const char* key, const std::string& where) {
    if (!object.contains(key)) {
        throw std::invalid_argument(where + ": the key '" + key + "' is missing");
    }
    try {
        return object.at(key).get<V>();
    } catch (const nlohmann::json::exception& error) {
        throw std::invalid_argument(where + "." + key + ": " + error.what());
    }
}

template <class E>
E named(const nlohmann::json& object, const char* key, const std::string& where,
        std::initializer_list<std::pair<const char*, E>> names) {
    const auto text = required<std::string>(object, key, where);
    std::string all;
    for (const auto& [name, value] : names) {
        if (text == name) {
            return value;
        }
        all += (all.empty() ? "" : ", ") + std::string(name);
    }
    throw std::invalid_argument(where + "." + key + ": '" + text + "' is not one of " + all);
}

inline app::Distances read_distances(const nlohmann::json& object, const char* key,
                                     const std::string& where) {
    app::Distances distances;
    if (!object.contains(key)) {
        return distances;
    }
    const auto given = required<std::vector<std::int64_t>>(object, key, where);
    if (given.size() > app::Distances::most) {
        throw std::invalid_argument(where + "." + key + ": at most " + std::to_string(app::Distances::most) +
                                    " distances are taken");
    }
    distances.count = given.size();
    std::copy(given.begin(), given.end(), distances.least);
    return distances;
}

inline CoreConfig read_core(const nlohmann::json& object, const std::string& where) {
    CoreConfig core;
    core.name = required<std::string>(object, "name", where);
    core.policy = named<CorePolicy>(object, "policy", where,
                                    {{"fixed-priority", CorePolicy::preemptive},
                                     {"fixed-priority-non-preemptive", CorePolicy::non_preemptive},
                                     {"edf", CorePolicy::edf},
                                     {"worker", CorePolicy::worker},
                                     {"three-phase", CorePolicy::three_phase}});
    core.cpu = object.value("cpu", -1);
    core.time_base =
        named<TimeBase>(object, "time_base", where,
                        {{"spin", TimeBase::spin}, {"sleep", TimeBase::sleep}, {"hybrid", TimeBase::hybrid}});
    core.margin_ns = object.value("margin_ns", std::uint64_t{100'000});
    core.sleep_one_in = object.value("sleep_one_in", 0U);
    core.wait_sleeps = named<bool>(object, "wait", where, {{"spin", false}, {"sleep", true}});
    core.max_restarts = object.value("max_restarts", 0U);
    core.ring_bytes = object.value("ring_bytes", core.ring_bytes);
    return core;
}

inline TaskConfig read_task(const nlohmann::json& object, const std::string& where, std::size_t cores) {
    TaskConfig task;
    task.name = required<std::string>(object, "name", where);
    task.core = required<std::uint16_t>(object, "core", where);
    if (object.contains("worker") && !object.at("worker").is_null()) {
        task.worker = required<std::uint16_t>(object, "worker", where);
    }
    if (task.core >= cores || (task.worker && *task.worker >= cores)) {
        throw std::invalid_argument(where + ": there is no such core");
    }
    task.rank = required<int>(object, "rank", where);
    task.threshold = object.value("threshold", task.rank);
    task.worker_rank = object.value("worker_rank", 1);
    task.period_ns = required<std::uint64_t>(object, "period_ns", where);
    task.extra_gap_ns = object.value("extra_gap_ns", std::uint64_t{0});
    task.distances_ns = read_distances(object, "distances_ns", where);
    if (object.contains("arrival") && !object.at("arrival").is_null()) {
        task.arrival = required<std::uint16_t>(object, "arrival", where);
    }
    task.offset_ns = object.value("offset_ns", std::uint64_t{0});
    task.jitter_ns = object.value("jitter_ns", std::uint64_t{0});
    task.deadline_ns = required<std::uint64_t>(object, "deadline_ns", where);
    task.give_up_ns = object.value("give_up_ns", task.deadline_ns);
    task.budget_ns = required<std::uint64_t>(object, "budget_ns", where);
    task.execution_budget_ns = object.value("execution_budget_ns", std::uint64_t{0});
    task.on_miss = named<OnMiss>(object, "on_miss", where,
                                 {{"hold-last-output", OnMiss::hold_last_output},
                                  {"local-fallback", OnMiss::local_fallback},
                                  {"stop", OnMiss::stop}});
    task.input_file = object.value("input_file", std::string{});
    for (const auto& rows : object.value("member_rows", nlohmann::json::array())) {
        task.member_rows.push_back(
            {required<std::string>(rows, "member", where), required<std::string>(rows, "file", where)});
    }
    if (object.contains("stand_in") && !object.at("stand_in").is_null()) {
        const auto& stand_in = object.at("stand_in");
        task.stand_in = {required<std::uint64_t>(stand_in, "bcet_ns", where),
                         required<std::uint64_t>(stand_in, "wcet_ns", where)};
    }
    task.ring_bytes = object.value("ring_bytes", task.ring_bytes);
    task.checkpoint = object.value("checkpoint", false);
    if (object.contains("remote_state") && !object.at("remote_state").is_null()) {
        const auto& state = object.at("remote_state");
        task.remote_state = {required<std::string>(state, "server", where),
                             required<std::string>(state, "key", where),
                             required<std::uint64_t>(state, "cache", where),
                             required<std::uint32_t>(state, "prefetch", where)};
    }
    if (task.period_ns == 0 || task.deadline_ns == 0 || task.give_up_ns > task.deadline_ns) {
        throw std::invalid_argument(where + ": 0 < period_ns and 0 < give_up_ns <= deadline_ns are required");
    }
    return task;
}

inline ModeConfig read_mode(const nlohmann::json& given, const RunConfig& config, const std::string& where) {
    ModeConfig mode;
    mode.name = required<std::string>(given, "name", where);
    for (const auto& core : required<nlohmann::json>(given, "cores", where)) {
        mode.cores.push_back(read_core(core, where + ".cores"));
    }
    for (const auto& task : required<nlohmann::json>(given, "tasks", where)) {
        mode.active.push_back(!task.is_null());
        const std::size_t place = mode.tasks.size();
        if (place < config.tasks.size()) {
            mode.tasks.push_back(task.is_null() ? config.tasks[place]
                                                : read_task(task, where + ".tasks", config.cores.size()));
        }
    }
    if (mode.cores.size() != config.cores.size() || mode.active.size() != config.tasks.size()) {
        throw std::invalid_argument(where +
                                    ": a mode has all cores and tasks of the run, null where one rests");
    }
    return mode;
}

inline ChangesConfig read_changes(const nlohmann::json& given, const RunConfig& config,
                                  const std::string& where) {
    ChangesConfig changes;
    for (const auto& mode : required<nlohmann::json>(given, "modes", where)) {
        changes.modes.push_back(read_mode(mode, config, where + ".modes"));
    }
    const auto known = [&](std::uint32_t mode) {
        if (mode >= changes.modes.size()) {
            throw std::invalid_argument(where + ": there is no mode " + std::to_string(mode));
        }
        return mode;
    };
    changes.start = known(required<std::uint32_t>(given, "start", where));
    changes.agreement_ns = required<std::uint64_t>(given, "agreement_ns", where);
    for (const auto& request : required<nlohmann::json>(given, "requests", where)) {
        changes.requests.push_back({required<std::uint64_t>(request, "at_ns", where),
                                    known(required<std::uint32_t>(request, "to", where))});
    }
    for (const auto& asker : given.value("asked_by", nlohmann::json::array())) {
        changes.askers.push_back(
            {required<std::uint16_t>(asker, "task", where), required<std::uint32_t>(asker, "offset", where),
             required<std::uint32_t>(asker, "bytes", where), required<bool>(asker, "signed", where),
             required<std::vector<std::uint32_t>>(asker, "modes", where)});
        for (const std::uint32_t mode : changes.askers.back().modes) {
            known(mode);
        }
    }
    changes.fail_over.resize(config.cores.size());
    for (const auto& one : given.value("fail_over", nlohmann::json::array())) {
        const auto core = required<std::size_t>(one, "core", where);
        if (core >= config.cores.size()) {
            throw std::invalid_argument(where + ": there is no core " + std::to_string(core));
        }
        changes.fail_over[core] = known(required<std::uint32_t>(one, "to", where));
    }
    changes.detection_ns = given.value("detection_ns", std::uint64_t{0});
    return changes;
}

}  // namespace detail

// Throws std::invalid_argument.
inline std::vector<LinkConfig> read_links(const nlohmann::json& given, std::size_t channels,
                                          const std::string& where) {
    std::vector<LinkConfig> links;
    for (const auto& object : given) {
        LinkConfig link;
        try {
            link.name = object.at("name").get<std::string>();
            link.cpu = object.value("cpu", -1);
            link.limit_ns = object.at("limit_ns").get<std::uint64_t>();
            link.silence_ns = object.at("silence_ns").get<std::uint64_t>();
            for (const auto& one : object.at("carries")) {
                link.carries.push_back(
                    {one.at("channel").get<std::uint16_t>(), one.value("transfer", std::uint64_t{0})});
            }
        } catch (const nlohmann::json::exception& error) {
            throw std::invalid_argument(where + ": " + error.what());
        }
        for (const LinkConfig::Carries& one : link.carries) {
            if (one.channel >= channels) {
                throw std::invalid_argument(where + "." + link.name + ": there is no such channel");
            }
        }
        links.push_back(std::move(link));
    }
    return links;
}

// Throws std::invalid_argument with the key that is wrong.
inline RunConfig read_run_config(const std::string& path) {
    using detail::required;
    std::ifstream file(path);
    if (!file) {
        throw std::invalid_argument(path + ": cannot be read");
    }
    nlohmann::json all;
    try {
        all = nlohmann::json::parse(file);
    } catch (const nlohmann::json::exception& error) {
        throw std::invalid_argument(path + ": " + error.what());
    }
    // Parts are known by 16-bit numbers, the last of which stands for none.
    for (const char* parts : {"cores", "tasks", "channels", "devices", "clusters"}) {
        if (all.contains(parts) && all.at(parts).size() >= Event::none) {
            throw std::invalid_argument(path + ": " + parts + ": more than 65,534 of them");
        }
    }
    RunConfig config;
    const auto cores = required<nlohmann::json>(all, "cores", path);
    for (std::size_t i = 0; i < cores.size(); ++i) {
        config.cores.push_back(detail::read_core(cores[i], path + ": cores[" + std::to_string(i) + "]"));
    }
    const auto tasks = required<nlohmann::json>(all, "tasks", path);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        config.tasks.push_back(
            detail::read_task(tasks[i], path + ": tasks[" + std::to_string(i) + "]", cores.size()));
    }
    for (const auto& channel : all.value("channels", nlohmann::json::array())) {
        config.channels.push_back({required<std::string>(channel, "name", path + ": channels"),
                                   channel.value("let", false),
                                   channel.value("device_period_ns", std::uint64_t{0})});
    }
    config.links =
        read_links(all.value("links", nlohmann::json::array()), config.channels.size(), path + ": links");
    for (const auto& cluster : all.value("clusters", nlohmann::json::array())) {
        ClusterConfig read;
        read.cores = required<std::vector<std::uint16_t>>(cluster, "cores", path + ": clusters");
        read.slots_ns = required<std::vector<std::uint64_t>>(cluster, "slots_ns", path + ": clusters");
        read.round_robin = cluster.value("round_robin", false);
        read.io_cpu = cluster.value("io_cpu", -1);
        read.shared = cluster.value("shared", false);
        config.clusters.push_back(read);
    }
    for (const auto& device : all.value("devices", nlohmann::json::array())) {
        config.devices.push_back({required<std::string>(device, "name", path + ": devices"),
                                  device.value("period_ns", std::uint64_t{0})});
    }
    for (const auto& fault : all.value("faults", nlohmann::json::array())) {
        FaultConfig read;
        read.kind = required<std::string>(fault, "kind", path + ": faults");
        read.at_ns = fault.value("at_ns", std::uint64_t{0});
        read.for_ns = fault.value("for_ns", std::uint64_t{0});
        if (fault.contains("core")) {
            read.core = required<std::uint16_t>(fault, "core", path + ": faults");
        }
        if (fault.contains("link")) {
            read.link = required<std::uint16_t>(fault, "link", path + ": faults");
            if (*read.link >= config.links.size()) {
                throw std::invalid_argument(path + ": faults: there is no such link");
            }
        }
        if (fault.contains("task")) {
            read.task = required<std::uint16_t>(fault, "task", path + ": faults");
        }
        read.job = fault.value("job", std::uint64_t{0});
        read.step = fault.value("step", 0U);
        config.faults.push_back(read);
    }
    if (all.contains("changes") && !all.at("changes").is_null()) {
        config.changes = detail::read_changes(all.at("changes"), config, path + ": changes");
    }
    config.duration_ns = required<std::uint64_t>(all, "duration_ns", path);
    config.seed = all.value("seed", std::uint64_t{0});
    config.realtime = all.value("realtime", true);
    config.priority = all.value("priority", config.priority);
    if (all.contains("throttled_ns") && !all.at("throttled_ns").is_null()) {
        const auto lasts = required<std::vector<std::uint64_t>>(all, "throttled_ns", path);
        if (lasts.size() != 2) {
            throw std::invalid_argument(path + ": throttled_ns: two times are needed");
        }
        config.throttled_from_ns = lasts[0];
        config.throttled_to_ns = lasts[1];
    }
    config.record = all.value("record", nlohmann::json::object()).dump();
    config.image = all.value("image", std::string{});
    return config;
}

}  // namespace consort::linux_port
