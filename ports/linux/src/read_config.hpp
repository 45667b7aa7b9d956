// SPDX-License-Identifier: Apache-2.0
//
// Reads the configuration of a run: a JSON file, and the plan image that it names. `consort run` writes both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "consort/linux/executive/config.hpp"
#include "consort/linux/plan_file.hpp"

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

inline CoreConfig read_core(const nlohmann::json& object, const std::string& where) {
    CoreConfig core;
    core.name = required<std::string>(object, "name", where);
    core.cpu = object.value("cpu", -1);
    core.time_base =
        named<TimeBase>(object, "time_base", where,
                        {{"spin", TimeBase::spin}, {"sleep", TimeBase::sleep}, {"hybrid", TimeBase::hybrid}});
    core.late_ns = object.value("late_ns", std::uint64_t{50'000});
    core.margin_ns = object.value("margin_ns", std::uint64_t{100'000});
    core.sleep_one_in = object.value("sleep_one_in", 0U);
    core.max_restarts = object.value("max_restarts", 0U);
    core.ring_bytes = object.value("ring_bytes", core.ring_bytes);
    return core;
}

inline RowSteps read_steps(const nlohmann::json& object, const char* key, const std::string& where) {
    RowSteps steps{object.value(key, std::vector<std::uint32_t>{})};
    for (const std::uint32_t step : steps.of_mode) {
        if (step == 0) {
            throw std::invalid_argument(where + "." + key + ": a job goes on by a row or more");
        }
    }
    return steps;
}

inline TaskConfig read_task(const nlohmann::json& object, const std::string& where) {
    TaskConfig task;
    task.name = required<std::string>(object, "name", where);
    task.budget_ns = required<std::uint64_t>(object, "budget_ns", where);
    task.execution_budget_ns = object.value("execution_budget_ns", std::uint64_t{0});
    task.input_file = object.value("input_file", std::string{});
    task.input_steps = read_steps(object, "input_steps", where);
    for (const auto& rows : object.value("member_rows", nlohmann::json::array())) {
        task.member_rows.push_back({required<std::string>(rows, "member", where),
                                    required<std::string>(rows, "file", where),
                                    read_steps(rows, "steps", where)});
    }
    task.ring_bytes = object.value("ring_bytes", task.ring_bytes);
    if (object.contains("remote_state") && !object.at("remote_state").is_null()) {
        const auto& state = object.at("remote_state");
        task.remote_state = {required<std::string>(state, "server", where),
                             required<std::string>(state, "key", where),
                             required<std::uint64_t>(state, "cache", where),
                             required<std::uint32_t>(state, "prefetch", where)};
    }
    return task;
}

inline AskerConfig read_asker(const nlohmann::json& object, std::size_t modes, const std::string& where) {
    AskerConfig asker{
        required<std::uint16_t>(object, "task", where), required<std::uint32_t>(object, "offset", where),
        required<std::uint32_t>(object, "bytes", where), required<bool>(object, "signed", where),
        required<std::vector<std::uint32_t>>(object, "modes", where)};
    for (const std::uint32_t mode : asker.modes) {
        if (mode >= modes) {
            throw std::invalid_argument(where + ": there is no mode " + std::to_string(mode));
        }
    }
    return asker;
}

// The identity of the program.
inline std::uint64_t program_of(const RunConfig& config) {
    plan::Names names;
    for (const TaskConfig& task : config.tasks) {
        names.add(plan::Names::of_task, task.name);
    }
    for (const std::string& channel : config.channels) {
        names.add(plan::Names::of_channel, channel);
    }
    return names.value();
}

// Things that an image must have beside what any has. Throws std::invalid_argument.
inline void check_image(const RunConfig& config) {
    const plan::Image& image = config.image;
    const plan::Head& head = image.head();
    const auto require = [&](bool holds, const std::string& what) {
        if (!holds) {
            throw std::invalid_argument("image: " + config.image_file + ": " + what);
        }
    };
    const char* wrong = plan::wrong_reference(image);
    require(wrong == nullptr, wrong == nullptr ? "" : wrong);
    require(head.ticks_per_second == image_ticks_per_second, "its times are not in picoseconds");
    require(head.modes == std::max<std::size_t>(1, config.modes.size()) &&
                head.cores == config.cores.size() &&
                image.count(plan::Table::devices) == config.devices.size(),
            "it has other cores, devices or modes than the configuration");
    for (std::uint32_t i = 0; i < head.modes * head.tasks; ++i) {
        const plan::Task& task = image.task(0, i);
        require(task.rests || (task.period > 0 && task.deadline > 0 && task.give_up > 0 &&
                               task.give_up <= task.deadline),
                "task " + config.tasks[i % head.tasks].name +
                    ": 0 < period and 0 < give_up <= deadline are required");
    }
    for (std::uint32_t core = 0; core < head.cores; ++core) {
        for (std::uint32_t mode = 0; mode < head.modes; ++mode) {
            require(!config.uses(mode, core) || image.core(mode, core).policy == config.policy(core),
                    "core " + config.cores[core].name + ": it has another policy in another mode");
        }
    }
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
inline RunConfig run_config_of(const std::string& path) {
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
    for (const char* parts : {"cores", "tasks", "channels", "devices"}) {
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
        config.tasks.push_back(detail::read_task(tasks[i], path + ": tasks[" + std::to_string(i) + "]"));
    }
    const auto names = [&](const char* key) {
        return all.contains(key) ? required<std::vector<std::string>>(all, key, path)
                                 : std::vector<std::string>{};
    };
    config.channels = names("channels");
    config.devices = names("devices");
    config.modes = names("modes");
    for (const auto& asker : all.value("asked_by", nlohmann::json::array())) {
        config.askers.push_back(detail::read_asker(asker, config.modes.size(), path + ": asked_by"));
    }
    config.links =
        read_links(all.value("links", nlohmann::json::array()), config.channels.size(), path + ": links");
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
    config.io_cpu = all.value("io_cpu", -1);
    config.shared = all.value("shared", false);
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
    config.image_file = required<std::string>(all, "image", path);
    const auto image = std::make_shared<const PlanFile>(config.image_file, detail::program_of(config));
    config.image = image->image();
    config.image_memory = image;
    detail::check_image(config);
    return config;
}

}  // namespace consort::linux_port
