// SPDX-License-Identifier: Apache-2.0
//
// Reads the configuration of a run: a JSON file, and the plan image that it names. `consort run` writes both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "consort/linux/executive/config.hpp"
#include "consort/linux/json.hpp"
#include "consort/linux/plan_file.hpp"

namespace consort::linux_port {

namespace detail {

// The value in C++'s type V. Throws std::invalid_argument where it is of another type, or too large.
template <class V>
V in_type(const json::Value& value, const std::string& where) {
    const auto is = [&](bool good, const char* type) {
        if (!good) {
            throw std::invalid_argument(where + ": " + json::written(value) + " is not " + type);
        }
    };
    if constexpr (std::is_same_v<V, bool>) {
        is(value.isBool(), "true or false");
        return value.asBool();
    } else if constexpr (std::is_same_v<V, std::string>) {
        is(value.isString(), "a text");
        return value.asString();
    } else if constexpr (std::is_signed_v<V>) {
        is(value.isInt64() && std::in_range<V>(value.asInt64()), "a number of its size");
        return static_cast<V>(value.asInt64());
    } else if constexpr (std::is_unsigned_v<V>) {
        is(value.isUInt64() && std::in_range<V>(value.asUInt64()), "a number of its size");
        return static_cast<V>(value.asUInt64());
    } else {
        is(value.isArray(), "a list");
        V elements;
        for (const json::Value& each : value) {
            elements.push_back(in_type<typename V::value_type>(each, where));
        }
        return elements;
    }
}

inline const json::Value& member(const json::Value& object, const char* key, const std::string& where) {
    if (!object.isObject() || !object.isMember(key)) {
        throw std::invalid_argument(where + ": the key '" + key + "' is missing");
    }
    return object[key];
}

template <class V>
V required(const json::Value& object, const char* key, const std::string& where) {
    return in_type<V>(member(object, key, where), where + "." + key);
}

// `otherwise` where the object lacks the key.
template <class V>
V given(const json::Value& object, const char* key, V otherwise, const std::string& where) {
    return object.isMember(key) ? required<V>(object, key, where) : otherwise;
}

// The elements of a list, none where the object lacks the key.
inline const json::Value& listed(const json::Value& object, const char* key, const std::string& where) {
    static const json::Value none = json::array();
    const json::Value& elements = object.isMember(key) ? object[key] : none;
    if (!elements.isArray()) {
        throw std::invalid_argument(where + ": " + key + ": it is not a list");
    }
    return elements;
}

template <class E>
E named(const json::Value& object, const char* key, const std::string& where,
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

inline CoreConfig read_core(const json::Value& object, const std::string& where) {
    CoreConfig core;
    core.name = required<std::string>(object, "name", where);
    core.cpu = given(object, "cpu", -1, where);
    core.time_base =
        named<TimeBase>(object, "time_base", where,
                        {{"spin", TimeBase::spin}, {"sleep", TimeBase::sleep}, {"hybrid", TimeBase::hybrid}});
    core.late_ns = given(object, "late_ns", std::uint64_t{50'000}, where);
    core.margin_ns = given(object, "margin_ns", std::uint64_t{100'000}, where);
    core.sleep_one_in = given(object, "sleep_one_in", 0U, where);
    core.max_restarts = given(object, "max_restarts", 0U, where);
    core.ring_bytes = given(object, "ring_bytes", core.ring_bytes, where);
    return core;
}

inline RowSteps read_steps(const json::Value& object, const char* key, const std::string& where) {
    RowSteps steps{given(object, key, std::vector<std::uint32_t>{}, where)};
    for (const std::uint32_t step : steps.of_mode) {
        if (step == 0) {
            throw std::invalid_argument(where + "." + key + ": a job goes on by a row or more");
        }
    }
    return steps;
}

inline TaskConfig read_task(const json::Value& object, const std::string& where) {
    TaskConfig task;
    task.name = required<std::string>(object, "name", where);
    task.budget_ns = required<std::uint64_t>(object, "budget_ns", where);
    task.execution_budget_ns = given(object, "execution_budget_ns", std::uint64_t{0}, where);
    task.input_file = given(object, "input_file", std::string{}, where);
    task.input_steps = read_steps(object, "input_steps", where);
    for (const json::Value& rows : listed(object, "member_rows", where)) {
        task.member_rows.push_back({required<std::string>(rows, "member", where),
                                    required<std::string>(rows, "file", where),
                                    read_steps(rows, "steps", where)});
    }
    task.ring_bytes = given(object, "ring_bytes", task.ring_bytes, where);
    if (const json::Value& state = object["remote_state"]; !state.isNull()) {
        task.remote_state = {required<std::string>(state, "server", where),
                             required<std::string>(state, "key", where),
                             required<std::uint64_t>(state, "cache", where),
                             required<std::uint32_t>(state, "prefetch", where)};
    }
    return task;
}

inline AskerConfig read_asker(const json::Value& object, std::size_t modes, const std::string& where) {
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
inline std::vector<LinkConfig> read_links(const json::Value& all, std::size_t channels,
                                          const std::string& where) {
    using detail::required;
    std::vector<LinkConfig> links;
    for (const json::Value& object : detail::listed(all, "links", where)) {
        LinkConfig link;
        link.name = required<std::string>(object, "name", where + ": links");
        const std::string here = where + ": links." + link.name;
        link.cpu = detail::given(object, "cpu", -1, here);
        link.limit_ns = required<std::uint64_t>(object, "limit_ns", here);
        link.silence_ns = required<std::uint64_t>(object, "silence_ns", here);
        for (const json::Value& one : detail::listed(object, "carries", here)) {
            link.carries.push_back({required<std::uint16_t>(one, "channel", here),
                                    detail::given(one, "transfer", std::uint64_t{0}, here)});
            if (link.carries.back().channel >= channels) {
                throw std::invalid_argument(here + ": there is no such channel");
            }
        }
        links.push_back(std::move(link));
    }
    return links;
}

// Throws std::invalid_argument with the key that is wrong.
inline RunConfig run_config_of(const std::string& path) {
    using detail::given;
    using detail::required;
    std::ifstream file(path);
    if (!file) {
        throw std::invalid_argument(path + ": cannot be read");
    }
    const json::Value all = json::parsed(file, path);
    if (!all.isObject()) {
        throw std::invalid_argument(path + ": it is a list; an object with 'cores' and 'tasks' is needed");
    }
    // Parts are known by 16-bit numbers, the last of which stands for none.
    for (const char* parts : {"cores", "tasks", "channels", "devices"}) {
        if (detail::listed(all, parts, path).size() >= Event::none) {
            throw std::invalid_argument(path + ": " + parts + ": more than 65,534 of them");
        }
    }
    RunConfig config;
    const json::Value& cores = detail::member(all, "cores", path);
    for (Json::ArrayIndex i = 0; i < cores.size(); ++i) {
        config.cores.push_back(detail::read_core(cores[i], path + ": cores[" + std::to_string(i) + "]"));
    }
    const json::Value& tasks = detail::member(all, "tasks", path);
    for (Json::ArrayIndex i = 0; i < tasks.size(); ++i) {
        config.tasks.push_back(detail::read_task(tasks[i], path + ": tasks[" + std::to_string(i) + "]"));
    }
    const auto names = [&](const char* key) { return given(all, key, std::vector<std::string>{}, path); };
    config.channels = names("channels");
    config.devices = names("devices");
    config.modes = names("modes");
    for (const json::Value& asker : detail::listed(all, "asked_by", path)) {
        config.askers.push_back(detail::read_asker(asker, config.modes.size(), path + ": asked_by"));
    }
    config.links = read_links(all, config.channels.size(), path);
    for (const json::Value& fault : detail::listed(all, "faults", path)) {
        FaultConfig read;
        read.kind = required<std::string>(fault, "kind", path + ": faults");
        read.at_ns = given(fault, "at_ns", std::uint64_t{0}, path + ": faults");
        read.for_ns = given(fault, "for_ns", std::uint64_t{0}, path + ": faults");
        if (fault.isMember("core")) {
            read.core = required<std::uint16_t>(fault, "core", path + ": faults");
        }
        if (fault.isMember("link")) {
            read.link = required<std::uint16_t>(fault, "link", path + ": faults");
            if (*read.link >= config.links.size()) {
                throw std::invalid_argument(path + ": faults: there is no such link");
            }
        }
        if (fault.isMember("task")) {
            read.task = required<std::uint16_t>(fault, "task", path + ": faults");
        }
        read.job = given(fault, "job", std::uint64_t{0}, path + ": faults");
        read.step = given(fault, "step", 0U, path + ": faults");
        config.faults.push_back(read);
    }
    config.io_cpu = given(all, "io_cpu", -1, path);
    config.shared = given(all, "shared", false, path);
    config.realtime = given(all, "realtime", true, path);
    config.priority = given(all, "priority", config.priority, path);
    if (!all["throttled_ns"].isNull()) {
        const auto lasts = required<std::vector<std::uint64_t>>(all, "throttled_ns", path);
        if (lasts.size() != 2) {
            throw std::invalid_argument(path + ": throttled_ns: two times are needed");
        }
        config.throttled_from_ns = lasts[0];
        config.throttled_to_ns = lasts[1];
    }
    config.record = json::written(all.get("record", json::object()));
    config.image_file = required<std::string>(all, "image", path);
    const auto image = std::make_shared<const PlanFile>(config.image_file, detail::program_of(config));
    config.image = image->image();
    config.image_memory = image;
    detail::check_image(config);
    return config;
}

}  // namespace consort::linux_port
