// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "consort/app/plan.hpp"

namespace plan_tests {
namespace {

using namespace consort::app::plan;

// An image of one task on one core, and of no channel; or with something changed in it.
template <class Change>
std::vector<std::uint64_t> made(Change&& change) {
    Names names;
    names.add(Names::of_task, "only");
    Head head{};
    head.magic = magic;
    head.version = version;
    head.layout = layout;
    head.program = names.value();
    head.modes = head.cores = head.tasks = 1;
    Core core{};
    core.context_switch = 3;
    Task task{};
    task.period = 10;
    task.worker = task.arrival = none;
    change(head, core, task);
    std::uint32_t at = sizeof head;
    head.places[static_cast<std::size_t>(Table::cores)] = {at, 1};
    at += sizeof core;
    head.places[static_cast<std::size_t>(Table::tasks)] = {at, 1};
    at += sizeof task;
    for (const Table none_of : {Table::dmas, Table::ends, Table::channels, Table::devices, Table::requests,
                                Table::fail_overs, Table::times, Table::names}) {
        head.places[static_cast<std::size_t>(none_of)] = {at, 0};
    }
    head.bytes = at;
    std::vector<std::uint64_t> words(at / 8);
    auto* bytes = reinterpret_cast<std::byte*>(words.data());
    std::memcpy(bytes + sizeof head, &core, sizeof core);
    std::memcpy(bytes + sizeof head + sizeof core, &task, sizeof task);
    Hash hash;
    hash.add(bytes + sizeof head, at - sizeof head);
    head.hash = hash.value();
    std::memcpy(bytes, &head, sizeof head);
    return words;
}

std::vector<std::uint64_t> made() {
    return made([](Head&, Core&, Task&) {});
}

Refused opened(const std::vector<std::uint64_t>& words, std::uint64_t program, Image& image) {
    return Image::open(reinterpret_cast<const std::byte*>(words.data()), words.size() * 8, program, image);
}

TEST(PlanImage, IsReadWhereItLies) {
    const auto words = made();
    Image image;
    ASSERT_EQ(opened(words, 0, image), Refused::no);
    EXPECT_EQ(image.core(0, 0).context_switch, 3);
    EXPECT_EQ(image.task(0, 0).period, 10);
    EXPECT_EQ(image.count(Table::channels), 0U);
}

TEST(PlanImage, IsForTheProgramWithItsNames) {
    const auto words = made();
    Image image;
    Names mine;
    mine.add(Names::of_task, "only");
    EXPECT_EQ(opened(words, mine.value(), image), Refused::no);
    Names other;
    other.add(Names::of_channel, "only");
    EXPECT_EQ(opened(words, other.value(), image), Refused::program);
}

TEST(PlanImage, OfAnotherVersionLayoutOrLengthIsRefused) {
    const auto refused = [](std::size_t word, std::uint64_t value) {
        auto words = made();
        words[word] = value;
        Image image;
        return opened(words, 0, image);
    };
    EXPECT_EQ(refused(0, 0), Refused::not_an_image);
    EXPECT_EQ(refused(0, magic | std::uint64_t{version + 1} << 32U), Refused::version);
    EXPECT_EQ(refused(offsetof(Head, layout) / 8, layout + 1), Refused::layout);
    EXPECT_EQ(refused(offsetof(Head, bytes) / 8, 8), Refused::damaged);
    EXPECT_EQ(refused(sizeof(Head) / 8, 4), Refused::damaged);
}

TEST(PlanImage, SaysWhatItRefersToAndHasNot) {
    const auto wrong = [](auto&& change) {
        const auto words = made(change);
        Image image;
        EXPECT_EQ(opened(words, 0, image), Refused::no);
        const char* found = wrong_reference(image);
        return std::string(found == nullptr ? "" : found);
    };
    EXPECT_EQ(wrong([](Head&, Core&, Task&) {}), "");
    EXPECT_NE(wrong([](Head& head, Core&, Task&) { head.first = 1; }), "");
    EXPECT_NE(wrong([](Head& head, Core&, Task&) { head.modes = 2; }), "");
    EXPECT_NE(wrong([](Head&, Core& core, Task&) { core.policy = Policy::three_phase; }), "");
    EXPECT_NE(wrong([](Head&, Core&, Task& task) { task.core = 1; }), "");
    EXPECT_NE(wrong([](Head&, Core&, Task& task) { task.worker = 1; }), "");
    EXPECT_NE(wrong([](Head&, Core&, Task& task) { task.arrival = 0; }), "");
    EXPECT_NE(wrong([](Head&, Core&, Task& task) { task.ends = {0, 1}; }), "");
    EXPECT_NE(wrong([](Head&, Core&, Task& task) { task.distances = {1, 0}; }), "");
}

}  // namespace
}  // namespace plan_tests
