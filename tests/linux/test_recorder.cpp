// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <iterator>

#include "consort/linux/json.hpp"
#include "consort/linux/program.hpp"
#include "consort/linux/recorder.hpp"
#include "temporary.hpp"

using namespace consort::linux_port;

namespace {

json::Value parsed(const std::string& text) {
    return json::parsed(text, "text");
}

struct Row {
    std::uint64_t start;
    std::int32_t error;
    float value;
    std::uint16_t worker;
    std::uint16_t reserved[3];
};
static_assert(sizeof(Row) == 24);

Table<Row> table_of(std::size_t rows, std::size_t capacity) {
    Table<Row> table("rows", capacity);
    table.timestamp("start", &Row::start).field("error", &Row::error, "LSB");
    table.field("value", &Row::value).field("worker", &Row::worker);
    for (std::size_t i = 0; i < rows; ++i) {
        table.push({i + 1, -static_cast<std::int32_t>(i), 0.5F, 3, {}});
    }
    return table;
}

std::string contents(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST(Table, CountsWhatDidNotFit) {
    const Table<Row> table = table_of(5, 3);
    EXPECT_EQ(table.size(), 3U);
    EXPECT_EQ(table.lost(), 2U);
    EXPECT_EQ(table[2].start, 3U);
}

TEST(Table, RefusesASizeThatOverflows) {
    EXPECT_THROW(Table<Row>("rows", std::size_t{1} << 62U), std::length_error);
}

TEST(RawWriter, WritesWhatTheManifestSays) {
    const Temporary folder;
    RawWriter writer(folder.path, "test");
    writer.config = json::object({{"period_ns", 50'000}});
    const Table<Row> table = table_of(5, 3);
    writer.table(table);
    EXPECT_FALSE(std::filesystem::exists(folder.path / "manifest.json")) << "the manifest comes last";
    writer.event(9, "worker-died", json::object({{"worker", 0}}));
    writer.counter("deadline_misses", 4);
    Realtime realtime;
    realtime.cpu = 1;
    writer.realtime(realtime);
    realtime.cpu = 3;
    realtime.notes = {"SCHED_FIFO refused", "memory is not locked"};
    writer.worker_realtime("worker-0", realtime);
    writer.finish();

    const auto manifest = parsed(contents(folder.path / "manifest.json"));
    EXPECT_EQ(manifest["format"], 1);
    EXPECT_EQ(manifest["program"], "test");
    EXPECT_EQ(manifest["config"]["period_ns"], 50'000);
    EXPECT_EQ(manifest["clock"]["ticks_per_second"], static_cast<double>(Clock::ticks_per_second()));
    EXPECT_EQ(manifest["counters"]["deadline_misses"], 4);
    EXPECT_EQ(manifest["counters"]["records_lost"], 2);
    EXPECT_EQ(manifest["events"][0]["args"]["worker"], 0);
    EXPECT_EQ(manifest["realtime"]["cpu"], 1);
    ASSERT_EQ(manifest["realtime"]["workers"].size(), 1U);
    const auto& worker = manifest["realtime"]["workers"][0];
    EXPECT_EQ(worker["name"], "worker-0");
    EXPECT_EQ(worker["cpu"], 3);
    EXPECT_EQ(worker["notes"], parsed(R"(["SCHED_FIFO refused", "memory is not locked"])"));
    const auto& described = manifest["tables"][0];
    EXPECT_EQ(described["rows"], 3);
    EXPECT_EQ(described["record_bytes"], 24);
    EXPECT_EQ(described["attrs"]["lost"], 2);
    const json::Value fields = parsed(R"([
        {"name": "start", "type": "u8", "offset": 0, "unit": "tick", "kind": "timestamp"},
        {"name": "error", "type": "i4", "offset": 8, "unit": "LSB"},
        {"name": "value", "type": "f4", "offset": 12},
        {"name": "worker", "type": "u2", "offset": 16}])");
    EXPECT_EQ(described["fields"], fields);

    const std::string bytes = contents(folder.path / described["file"].asString());
    ASSERT_EQ(bytes.size(), 3U * 24U);
    EXPECT_EQ(std::memcmp(bytes.data(), table.data(), bytes.size()), 0);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 2)
        << "nothing else is left";
}

TEST(RawWriter, LeavesNothingWhenItIsNotFinished) {
    const Temporary folder;
    {
        RawWriter writer(folder.path, "test");
        writer.table(table_of(2, 2));
        EXPECT_TRUE(std::filesystem::exists(folder.path / "rows.bin"));
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

TEST(RawWriter, WantsAnEmptyFolder) {
    const Temporary folder;
    EXPECT_THROW(RawWriter(folder.path / "absent", "test"), std::invalid_argument);
    folder.write("something", "here");
    EXPECT_THROW(RawWriter(folder.path, "test"), std::invalid_argument);
    EXPECT_TRUE(std::filesystem::exists(folder.path / "something"));
}

TEST(RawWriter, RefusesANameThatIsAPath) {
    const Temporary folder;
    RawWriter writer(folder.path, "test");
    EXPECT_THROW(writer.table(Table<Row>("../rows", 1)), std::invalid_argument);
}

// A disk that fills up, by way of the limit on a file's size: exit status 3, and nothing is left.
TEST(RawWriter, FullDiskLeavesNothing) {
    const Temporary folder;
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{1'000, 1'000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        ::_exit(run_program("test", [&]() -> int {
            RawWriter writer(folder.path, "test");
            Table<Row> small("small", 1);
            writer.table(small);
            writer.table(table_of(100, 100));
            writer.finish();
            return good;
        }));
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), environment_lacks);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}
