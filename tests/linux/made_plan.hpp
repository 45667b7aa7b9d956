// SPDX-License-Identifier: Apache-2.0
//
// A run with a plan image of its own, made from rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "consort/linux/executive/config.hpp"

namespace consort::linux_port {

struct MadePlan {
    // By mode, in each as many.
    std::vector<std::vector<plan::Core>> cores;
    std::vector<std::vector<plan::Task>> tasks;
    plan::Run run{1'000'000'000'000, 1, app::Spread::uniform, app::Spread::edges};

    [[nodiscard]] RunConfig config() const {
        plan::Head head{};
        head.magic = plan::magic;
        head.version = plan::version;
        head.layout = plan::layout;
        head.ticks_per_second = image_ticks_per_second;
        head.run = run;
        head.modes = static_cast<std::uint32_t>(cores.size());
        head.cores = static_cast<std::uint32_t>(cores.front().size());
        head.tasks = static_cast<std::uint32_t>(tasks.front().size());
        auto words = std::make_shared<std::vector<std::uint64_t>>();
        const auto put = [&](plan::Table table, const auto& modes) {
            const std::size_t at = sizeof head + words->size() * 8;
            std::uint32_t count = 0;
            for (const auto& rows : modes) {
                const std::size_t before = words->size();
                static_assert(sizeof rows.front() % 8 == 0);
                words->resize(before + rows.size() * sizeof rows.front() / 8);
                std::memcpy(words->data() + before, rows.data(), rows.size() * sizeof rows.front());
                count += static_cast<std::uint32_t>(rows.size());
            }
            head.places[static_cast<std::size_t>(table)] = {static_cast<std::uint32_t>(at), count};
        };
        static_assert(sizeof head % 8 == 0);
        put(plan::Table::cores, cores);
        put(plan::Table::tasks, tasks);
        plan::Hash hash;
        hash.add(reinterpret_cast<const std::byte*>(words->data()), words->size() * 8);
        head.hash = hash.value();
        head.bytes = sizeof head + words->size() * 8;
        words->insert(words->begin(), sizeof head / 8, 0);
        std::memcpy(words->data(), &head, sizeof head);
        RunConfig config;
        const auto refused =
            plan::Image::open(reinterpret_cast<const std::byte*>(words->data()), head.bytes, 0, config.image);
        if (refused != plan::Refused::no) {
            throw std::logic_error(plan::to_string(refused));
        }
        config.image_memory = words;
        config.cores.resize(head.cores);
        config.tasks.resize(head.tasks);
        if (head.modes > 1) {
            config.modes.resize(head.modes);
        }
        return config;
    }
};

// A core of this policy.
[[nodiscard]] inline plan::Core core_of(plan::Policy policy) {
    plan::Core core{};
    core.policy = policy;
    return core;
}
// A task of 1 ms that a core releases, and a worker may compute.
[[nodiscard]] inline plan::Task task_of(std::uint32_t core, std::uint32_t worker = plan::none) {
    plan::Task task{};
    task.core = core;
    task.worker = worker;
    task.arrival = plan::none;
    task.period = task.deadline = task.give_up = 1'000'000'000;
    return task;
}

}  // namespace consort::linux_port
