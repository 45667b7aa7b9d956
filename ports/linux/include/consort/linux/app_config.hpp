// SPDX-License-Identifier: Apache-2.0
//
// What one run of an application is told: a JSON file that `consort run` writes from system.yaml.
#pragma once

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "consort/linux/release_timer.hpp"
#include "consort/offload/master.hpp"

namespace consort::linux_port {

struct TaskConfig {
    std::string name;
    std::uint64_t period_ns = 0;
    std::uint64_t deadline_ns = 0;
    bool offloaded = false;
    std::uint32_t worker = 0;  // index into AppConfig::worker_cpus
    offload::OnMiss on_miss = offload::OnMiss::hold_last_output;
    // How long before its deadline a job is given up for the local fallback.
    std::uint64_t fallback_margin_ns = 0;
    std::string input_file;  // rows of In, as they lie in memory
};

struct AppConfig {
    std::vector<TaskConfig> tasks;
    std::uint64_t iterations = 0;  // releases of the first task; the others run for the same time
    TimeBase time_base = TimeBase::spin;
    std::uint64_t margin_ns = 0;  // of a hybrid time base
    int master_cpu = -1;          // -1: not pinned
    std::vector<int> worker_cpus;
    bool realtime = true;
    int priority = 80;
    unsigned max_restarts = 0;  // of each worker
    nlohmann::json all;         // as read, for the record
};

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

inline offload::OnMiss on_miss_named(const std::string& name, const std::string& where) {
    if (name == "hold-last-output") {
        return offload::OnMiss::hold_last_output;
    }
    if (name == "local-fallback") {
        return offload::OnMiss::local_fallback;
    }
    if (name == "stop") {
        return offload::OnMiss::stop;
    }
    throw std::invalid_argument(where + ".on_miss: '" + name +
                                "' is not one of hold-last-output, local-fallback, stop");
}

inline TaskConfig read_task(const nlohmann::json& object, const std::string& where) {
    TaskConfig task;
    task.name = required<std::string>(object, "name", where);
    task.period_ns = required<std::uint64_t>(object, "period_ns", where);
    task.deadline_ns = required<std::uint64_t>(object, "deadline_ns", where);
    task.offloaded = required<std::string>(object, "execution", where) == "offloaded";
    task.worker = task.offloaded ? required<std::uint32_t>(object, "worker", where) : 0;
    task.on_miss = on_miss_named(required<std::string>(object, "on_miss", where), where);
    task.fallback_margin_ns = object.value("fallback_margin_ns", std::uint64_t{0});
    task.input_file = required<std::string>(object, "input_file", where);
    if (task.period_ns == 0 || task.deadline_ns == 0 || task.deadline_ns > task.period_ns) {
        throw std::invalid_argument(where + ": 0 < deadline_ns <= period_ns is required");
    }
    if (task.fallback_margin_ns >= task.deadline_ns) {
        throw std::invalid_argument(where + ": fallback_margin_ns must be less than deadline_ns");
    }
    return task;
}

}  // namespace detail

// Throws std::invalid_argument with the key that is wrong.
inline AppConfig read_app_config(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        throw std::invalid_argument(path + ": cannot be read");
    }
    AppConfig config;
    try {
        config.all = nlohmann::json::parse(file);
    } catch (const nlohmann::json::exception& error) {
        throw std::invalid_argument(path + ": " + error.what());
    }
    const auto& all = config.all;
    const auto tasks = detail::required<nlohmann::json>(all, "tasks", path);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        config.tasks.push_back(detail::read_task(tasks[i], path + ": tasks[" + std::to_string(i) + "]"));
    }
    config.iterations = detail::required<std::uint64_t>(all, "iterations", path);
    const auto base = detail::required<std::string>(all, "time_base", path);
    const auto named = time_base_named(base);
    if (!named) {
        throw std::invalid_argument(path + ".time_base: '" + base + "' is not one of spin, sleep, hybrid");
    }
    config.time_base = *named;
    config.margin_ns = all.value("margin_ns", std::uint64_t{100'000});
    config.master_cpu = all.value("master_cpu", -1);
    config.worker_cpus = all.value("worker_cpus", std::vector<int>{});
    config.realtime = all.value("realtime", true);
    config.priority = all.value("priority", 80);
    config.max_restarts = all.value("max_restarts", 0U);
    for (const TaskConfig& task : config.tasks) {
        if (task.offloaded && task.worker >= config.worker_cpus.size()) {
            throw std::invalid_argument(path + ": task " + task.name + " names worker " +
                                        std::to_string(task.worker) + ", but worker_cpus has " +
                                        std::to_string(config.worker_cpus.size()));
        }
    }
    return config;
}

}  // namespace consort::linux_port
