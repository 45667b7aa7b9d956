// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "consort/linux/executive/config.hpp"
#include "consort/linux/executive/files.hpp"
#include "consort/linux/json.hpp"
#include "made_plan.hpp"
#include "temporary.hpp"

using namespace consort::linux_port;

namespace {

// A master and a worker in two modes. Three tasks, of which the second mode has two, in another order.
RunConfig two_modes() {
    const plan::Core master = core_of(plan::Policy::fixed_priority);
    plan::Core asleep = master;
    asleep.wait = plan::Wait::sleep;
    const plan::Core worker = core_of(plan::Policy::worker);
    std::vector<plan::Task> one(3, task_of(0, 1));
    for (std::uint32_t i = 0; i < 3; ++i) {
        one[i].rank = one[i].worker_rank = i;
    }
    std::vector<plan::Task> two = one;
    two[0].rank = two[0].worker_rank = 1;
    two[1].rank = two[1].worker_rank = 0;
    two[1].deadline *= 2;
    two[2] = {};
    two[2].worker = plan::none;
    two[2].rests = true;
    return MadePlan{{{master, worker}, {asleep, worker}}, {one, two}}.config();
}

// The words with which a file of this text is refused.
std::string refusal_of(const std::string& text) {
    const Temporary folder;
    folder.write("config.json", text);
    try {
        read_run_config(folder.path / "config.json");
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST(RunConfig, AValueOfAWrongTypeOrSizeIsRefusedWithItsKey) {
    const std::vector<std::pair<std::string, std::string>> wrong = {
        {"", "Line 1"},
        {R"({"cores": [}])", "Line 1, Column 12"},
        {R"({"cores": [], "cores": []})", "Duplicate key"},
        {"[]", "it is a list"},
        {R"({"tasks": []})", "the key 'cores' is missing"},
        {R"({"cores": [{"name": 1}]})", "cores[0].name: 1 is not a text"},
        {R"({"cores": [{"name": "c", "time_base": "late"}]})", "'late' is not one of spin, sleep, hybrid"},
        {R"({"cores": [{"name": "c", "time_base": "spin", "late_ns": -1}]})", "late_ns: -1 is not a number"},
        {R"({"cores": [{"name": "c", "time_base": "spin", "cpu": 4294967296}]})", "cpu: 4294967296 is not"},
        {R"({"cores": [{"name": "c", "time_base": "spin", "cpu": 0.5}]})", "cpu: 0.5 is not a number"},
        {R"({"cores": [], "tasks": [{"name": "t", "budget_ns": "1"}]})", R"(budget_ns: "1" is not a number)"},
        {R"({"cores": [], "tasks": [], "channels": "a"})", "channels: it is not a list"},
        {R"({"cores": {"a": 1}})", "cores: it is not a list"},
        {R"({"cores": "abc"})", "cores: it is not a list"},
        {R"({"cores": [], "tasks": {"b": 2}})", "tasks: it is not a list"},
        {R"({"cores": )" + std::string(1'500, '['), "stackLimit"},
        {R"({"cores": [], "tasks": [], "shared": 1})", "shared: 1 is not true or false"},
        {R"({"cores": [], "tasks": [], "links": 1})", "links: it is not a list"},
    };
    for (const auto& [text, words] : wrong) {
        EXPECT_NE(refusal_of(text).find(words), std::string::npos) << text << ": " << refusal_of(text);
    }
}

TEST(Json, ANumberIsReadAsItWasWritten) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    const json::Value made = json::object({{"most", most},
                                           {"least", std::numeric_limits<std::int64_t>::min()},
                                           {"third", 1.0 / 3.0},
                                           {"short", std::uint16_t{65'535}},
                                           {"none", std::nan("")},
                                           {"endless", HUGE_VAL},
                                           {"text", std::string_view("a\n\"b\"")},
                                           {"list", std::vector<std::uint32_t>{1, 2}}});
    for (const json::Form form : {json::Form::line, json::Form::lines}) {
        const json::Value read = json::parsed(json::written(made, form), "text");
        EXPECT_EQ(read["most"].asUInt64(), most);
        EXPECT_EQ(read["least"].asInt64(), std::numeric_limits<std::int64_t>::min());
        EXPECT_EQ(read["third"].asDouble(), 1.0 / 3.0);
        EXPECT_EQ(read["short"].asUInt(), 65'535U);
        EXPECT_TRUE(read["none"].isNull() && read["endless"].isNull()) << "JSON has no such numbers";
        EXPECT_EQ(read["text"].asString(), "a\n\"b\"");
        EXPECT_EQ(read["list"].size(), 2U);
    }
}

TEST(RunConfig, AWorkerServesByTheOrderOfTheMode) {
    const RunConfig config = two_modes();
    EXPECT_EQ(config.served_by(1, 0), (std::vector<std::uint16_t>{0, 1, 2}));
    EXPECT_EQ(config.served_by(1, 1), (std::vector<std::uint16_t>{1, 0, 2})) << "the one that rests last";
    EXPECT_TRUE(config.served_by(0, 0).empty());
}

TEST(RunConfig, APassOverRowsEndsWithTheLastOne) {
    const RowSteps steps{{1, 4}};
    EXPECT_EQ(steps.in(1), 4U);
    EXPECT_EQ(RowSteps{}.in(1), 1U);
    // Of three rows, and of ten: the row after each is the next job's, or the first one again.
    const auto next = [](std::uint64_t row, std::uint64_t count, std::uint32_t step) {
        return row + 1 + RowSteps::left_out(row + 1, count, step);
    };
    EXPECT_EQ(next(0, 3, 4), 3U);
    EXPECT_EQ(next(0, 10, 4), 4U);
    EXPECT_EQ(next(8, 10, 4), 10U) << "the second pass begins at its first row";
    EXPECT_EQ(next(10, 10, 4), 14U);
    EXPECT_EQ(next(9, 10, 1), 10U);
}

TEST(RunConfig, ACoreIsInEachModeAsThePlanHasItThere) {
    RunConfig config = two_modes();
    EXPECT_FALSE(config.waits_asleep(0, 0));
    EXPECT_TRUE(config.waits_asleep(1, 0));
    EXPECT_EQ(config.level(0, 0, 0), 3) << "the kernel's priorities count up from the least urgent";
    EXPECT_EQ(config.level(0, 0, 2), 1);
    EXPECT_EQ(config.level(1, 0, 0), 2);
    EXPECT_EQ(config.longest_deadline(1), 2'000'000'000);
    config.shared = true;
    EXPECT_TRUE(config.waits_asleep(0, 0)) << "it would keep the others from the processor";
}
