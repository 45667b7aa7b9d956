// SPDX-License-Identifier: Apache-2.0
//
// A program describes itself. With --describe: the layouts of its tasks' parts, of its channels' blocks
// and of the record's structs, as the compiler has them. Python makes its dtypes of these. With --parts: the
// parts of a task's image for another machine beside its instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "consort/app/plan.hpp"
#include "consort/app/ring.hpp"
#include "consort/linux/executive/catalogue.hpp"
#include "consort/linux/executive/summary_page.hpp"
#include "consort/linux/executive/worker_process.hpp"
#include "consort/linux/json.hpp"

namespace consort::linux_port {

// numpy's code of a scalar leaf: u4, i2, f4 …
inline std::string numpy_code(const Leaf& leaf) {
    const char letter = leaf.kind == Kind::floating ? 'f' : (leaf.is_signed != 0 ? 'i' : 'u');
    return letter + std::to_string(leaf.size);
}

inline json::Value to_json(const TypeInfo& type) {
    json::Value members = json::array();
    for (std::size_t i = 0; i < type.count; ++i) {
        const Leaf& leaf = type.leaves[i];
        members.append(json::object({{"name", std::string(type.name(i).view())},
                                     {"type", numpy_code(leaf)},
                                     {"offset", leaf.offset},
                                     {"count", leaf.count}}));
    }
    return json::object({{"bytes", type.bytes}, {"members", members}});
}

inline json::Value record_layouts() {
    return json::object(
        {{"job", to_json(type_info<Job>())},
         {"operation", to_json(type_info<Operation>())},
         {"event", to_json(type_info<Event>())},
         {"served", to_json(type_info<ServedRow>())},
         {"head", to_json(type_info<app::RecordHead>())},
         {"ring", json::object({{"bytes", sizeof(app::RingMemory)},
                                {"written", offsetof(app::RingMemory, written)},
                                {"lost", offsetof(app::RingMemory, lost)}})},
         {"tables", json::object({{"job", static_cast<std::uint16_t>(app::RecordTable::job)},
                                  {"operation", static_cast<std::uint16_t>(app::RecordTable::operation)},
                                  {"event", static_cast<std::uint16_t>(app::RecordTable::event)},
                                  {"output", static_cast<std::uint16_t>(app::RecordTable::output)}})}});
}

// Layouts of the page that `consort watch` reads.
inline json::Value summary_layouts() {
    return json::object({{"head", to_json(type_info<SummaryHead>())},
                         {"task", to_json(type_info<TaskSummary>())},
                         {"core", to_json(type_info<CoreSummary>())},
                         {"states", json::object({{"before-start", SummaryHead::before_start},
                                                  {"running", SummaryHead::running},
                                                  {"ended", SummaryHead::ended}})},
                         {"no_time", TaskSummary::no_time}});
}

// Layouts for the encoder of plan images.
inline json::Value plan_layouts() {
    json::Value rows = json::object();
    // The members of an object stand in no order that a reader may count on.
    json::Value tables = json::array();
    app::plan::each_row([&]<class Row>(std::string_view name, std::type_identity<Row>) {
        rows[std::string(name)] = to_json(type_info<Row>());
        if constexpr (!std::is_same_v<Row, app::plan::Head>) {
            tables.append(std::string(name));
        }
    });
    json::Value choices = json::object();
    app::plan::each_choice(
        [&](std::string_view member, const auto& names) { choices[std::string(member)] = json::of(names); });
    return json::object({{"magic", app::plan::magic},
                         {"version", app::plan::version},
                         {"layout", app::plan::layout},
                         {"none", app::plan::none},
                         {"tables", tables},
                         {"rows", rows},
                         {"choices", choices}});
}

inline json::Value describe(const Catalogue& catalogue) {
    json::Value tasks = json::array();
    for (const StepEntry& task : catalogue.tasks) {
        tasks.append(json::object({{"name", task.name},
                                   {"in", to_json(task.in)},
                                   {"state", to_json(task.state)},
                                   {"out", to_json(task.out)},
                                   {"constants", to_json(task.constants)},
                                   {"stand_in", task.stand_in}}));
    }
    json::Value channels = json::array();
    for (const ChannelEntry& channel : catalogue.channels) {
        channels.append(json::object({{"name", channel.name},
                                      {"block", to_json(channel.value)},
                                      {"region_bytes", channel.region_bytes}}));
    }
    json::Value bindings = json::array();
    for (const Binding& b : catalogue.bindings) {
        bindings.append(json::object({{"task", b.task},
                                      {"member", b.member},
                                      {"source", b.source},
                                      {"offset", b.offset},
                                      {"bytes", b.bytes}}));
    }
    json::Value devices = json::array();
    for (const DeviceEntry& device : catalogue.devices) {
        devices.append(json::object({{"name", device.name}, {"state", to_json(device.state)}}));
    }
    return json::object({{"tasks", tasks},
                         {"channels", channels},
                         {"bindings", bindings},
                         {"devices", devices},
                         {"record", record_layouts()},
                         {"plan", plan_layouts()},
                         {"summary", summary_layouts()}});
}

}  // namespace consort::linux_port
