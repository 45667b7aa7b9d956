// SPDX-License-Identifier: Apache-2.0
// The port's programs, run as a user runs them.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "temporary.hpp"

namespace {

pid_t start(const std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (const std::string& word : words) {
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    pid_t pid = -1;
    return ::posix_spawn(&pid, words[0].c_str(), nullptr, nullptr, arguments.data(), environ) == 0 ? pid : -1;
}

int status_of(pid_t pid) {
    int status = 0;
    return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

nlohmann::json manifest(const std::filesystem::path& folder) {
    std::ifstream file(folder / "manifest.json");
    return nlohmann::json::parse(file);
}

}  // namespace

TEST(Interference, RecordsWhatItMoved) {
    const Temporary raw;
    ASSERT_EQ(status_of(start({CONSORT_INTERFERENCE, "--stream", "--loopback-copy", "--stream-mib", "1",
                               "--file-mib", "1", "--seconds", "0.3", "--raw", raw.path})),
              0);
    const nlohmann::json record = manifest(raw.path);
    EXPECT_GT(record["counters"]["memory_stream_bytes"], 0);
    EXPECT_GT(record["counters"]["loopback_copy_bytes"], 0);
    const auto& table = record["tables"][0];
    EXPECT_EQ(table["name"], "activity");
    EXPECT_GT(table["rows"], 0);
    // The rows add up to the counters: what is recorded is what was moved.
    std::ifstream file(raw.path / "activity.bin", std::ios::binary);
    std::uint64_t sums[2] = {};
    struct {
        std::uint64_t t, bytes;
        std::uint32_t source, reserved;
    } row{};
    ASSERT_EQ(sizeof row, table["record_bytes"]);
    while (file.read(reinterpret_cast<char*>(&row), sizeof row)) {
        ASSERT_LT(row.source, 2U);
        sums[row.source] += row.bytes;
    }
    EXPECT_EQ(sums[0], record["counters"]["memory_stream_bytes"]);
    EXPECT_EQ(sums[1], record["counters"]["loopback_copy_bytes"]);
}

TEST(Interference, EndsOnSigtermWithACompleteRecord) {
    const Temporary raw;
    const pid_t pid =
        start({CONSORT_INTERFERENCE, "--stream", "--stream-mib", "1", "--seconds", "60", "--raw", raw.path});
    ASSERT_GT(pid, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    ::kill(pid, SIGTERM);
    const int status = status_of(pid);
    if (status == -1) {
        GTEST_SKIP() << "this machine had not started the program after half a second";
    }
    EXPECT_EQ(status, 0);
    EXPECT_EQ(manifest(raw.path)["format"], 1);
}

TEST(Interference, ExitStatuses) {
    EXPECT_EQ(status_of(start({CONSORT_INTERFERENCE})), 2);
    EXPECT_EQ(status_of(start({CONSORT_INTERFERENCE, "--stream", "--cpus", "x"})), 2);
    EXPECT_EQ(status_of(start({CONSORT_INTERFERENCE, "--stream", "--seconds", "-1"})), 2);
    EXPECT_EQ(status_of(start({CONSORT_INTERFERENCE, "--stream", "--raw", "/absent"})), 2);
    EXPECT_EQ(status_of(start({CONSORT_INTERFERENCE, "--loopback-copy", "--scratch", "/absent"})), 3);
    EXPECT_EQ(status_of(start({CONSORT_INTERFERENCE, "--help"})), 0);
}

TEST(WakeupProbe, PrintsOneOrderedSummary) {
    FILE* output = ::popen(CONSORT_WAKEUP_PROBE " --seconds 0.1", "r");
    ASSERT_NE(output, nullptr);
    char text[8192] = {};
    ASSERT_GT(::fread(text, 1, sizeof text - 1, output), 0U);
    EXPECT_EQ(::pclose(output), 0);
    const auto result = nlohmann::json::parse(text);
    EXPECT_EQ(result["n"], 200);
    EXPECT_LE(result["min"], result["median"]);
    EXPECT_LE(result["median"], result["p99"]);
    EXPECT_LE(result["p99"], result["max"]);
}
