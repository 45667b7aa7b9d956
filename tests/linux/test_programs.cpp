// SPDX-License-Identifier: Apache-2.0
// The port's programs, run as a user runs them.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "consort/linux/json.hpp"
#include "temporary.hpp"

namespace {

// A program of this build.
std::string program_of_build(const char* name) {
    const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return (here / CONSORT_PROGRAMS / name).lexically_normal();
}

const std::string interference_program = program_of_build("consort-interference");
const std::string probe_program = program_of_build("consort-probe");

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

// Waits until the process blocks the signal, as the program does before it waits for it: sent earlier, the
// signal would end it. False if the process ends before.
bool blocks(pid_t pid, int signal) {
    for (;;) {
        siginfo_t ended{};
        if (::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            ended.si_pid == pid) {
            return false;
        }
        std::ifstream status("/proc/" + std::to_string(pid) + "/status");
        for (std::string line; std::getline(status, line);) {
            if (line.rfind("SigBlk:", 0) == 0 &&
                (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1U) != 0) {
                return true;
            }
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

json::Value manifest(const std::filesystem::path& folder) {
    std::ifstream file(folder / "manifest.json");
    return json::parsed(file, "manifest");
}

}  // namespace

TEST(Interference, RecordsWhatItMoved) {
    const Temporary raw;
    ASSERT_EQ(status_of(start({interference_program, "--stream", "--loopback-copy", "--stream-mib", "1",
                               "--file-mib", "1", "--seconds", "0.3", "--raw", raw.path})),
              0);
    const json::Value record = manifest(raw.path);
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
    ASSERT_EQ(table["record_bytes"].asUInt64(), sizeof row);
    while (file.read(reinterpret_cast<char*>(&row), sizeof row)) {
        ASSERT_LT(row.source, 2U);
        sums[row.source] += row.bytes;
    }
    EXPECT_EQ(record["counters"]["memory_stream_bytes"].asUInt64(), sums[0]);
    EXPECT_EQ(record["counters"]["loopback_copy_bytes"].asUInt64(), sums[1]);
}

TEST(Interference, EndsOnSigtermWithACompleteRecord) {
    const Temporary raw;
    const pid_t pid =
        start({interference_program, "--stream", "--stream-mib", "1", "--seconds", "60", "--raw", raw.path});
    ASSERT_GT(pid, 0);
    ASSERT_TRUE(blocks(pid, SIGTERM));
    ::kill(pid, SIGTERM);
    EXPECT_EQ(status_of(pid), 0);
    EXPECT_EQ(manifest(raw.path)["format"], 1);
}

TEST(Interference, ExitStatuses) {
    EXPECT_EQ(status_of(start({interference_program})), 2);
    EXPECT_EQ(status_of(start({interference_program, "--stream", "--cpus", "x"})), 2);
    EXPECT_EQ(status_of(start({interference_program, "--stream", "--seconds", "-1"})), 2);
    EXPECT_EQ(status_of(start({interference_program, "--stream", "--raw", "/absent"})), 2);
    EXPECT_EQ(status_of(start({interference_program, "--loopback-copy", "--scratch", "/absent"})), 3);
    EXPECT_EQ(status_of(start({interference_program, "--help"})), 0);
}

namespace {

json::Value probe(const std::string& arguments) {
    FILE* output = ::popen((probe_program + " " + arguments).c_str(), "r");
    if (output == nullptr) {
        return {};
    }
    std::string text;
    for (char part[4096]; const std::size_t n = ::fread(part, 1, sizeof part, output);) {
        text.append(part, n);
    }
    return ::pclose(output) == 0 ? json::parsed(text, "probe") : json::Value();
}

std::vector<std::uint64_t> numbers(const json::Value& list) {
    std::vector<std::uint64_t> found;
    for (const json::Value& each : list) {
        found.push_back(each.asUInt64());
    }
    return found;
}

void expect_ordered(const json::Value& series, std::uint64_t all) {
    EXPECT_EQ(series["n"].asUInt64() + series["disturbed"].asUInt64(), all);
    EXPECT_LE(series["min"], series["median"]);
    EXPECT_LE(series["median"], series["p99"]);
    EXPECT_LE(series["p99"], series["max"]);
}

}  // namespace

// In the ordinary class: what is asked for is the form, on any machine.
TEST(Probe, WakeupsAndGaps) {
    const auto result =
        probe("--measure wakeup,busy --seconds 0.1 --interval-us 500 --ordinary --deep-idle --lengths 4096");
    ASSERT_TRUE(result.isObject());
    expect_ordered(result["wakeup"][0], 200);
    EXPECT_FALSE(result.isMember("switch"));
    const auto& busy = result["busy"][0];
    for (const char* cause : {"stopped", "interrupted"}) {
        EXPECT_LE(busy[cause]["longest"], busy[cause]["total"]);
        EXPECT_LE(busy[cause]["total"], busy["lasted"]);
        const auto lengths = numbers(busy[cause]["lengths"]);
        EXPECT_TRUE(std::is_sorted(lengths.rbegin(), lengths.rend()));
        EXPECT_EQ(lengths.size(), std::min<std::size_t>(busy[cause]["n"].asUInt64(), 4096));
        EXPECT_EQ(lengths.empty() ? 0U : lengths.front(), busy[cause]["longest"].asUInt64());
    }
}

TEST(Probe, MemoryAndExchanges) {
    const auto result = probe("--measure memory,exchange --samples 500 --memory-mib 4 --ordinary");
    if (result.isNull()) {
        GTEST_SKIP() << "needs two processors";
    }
    for (const auto& memory : result["memory"]) {
        expect_ordered(memory["access"], 500);
        expect_ordered(memory["copy"], 500);
    }
    for (const auto& exchange : result["exchange"]) {
        expect_ordered(exchange["round_trip"], 500);
        // Each way is a part of its round trip, by the one clock that all processors read.
        if (exchange["inversions"] == 0) {
            EXPECT_LE(exchange["there"]["min"], exchange["round_trip"]["max"]);
            EXPECT_LE(exchange["there"]["min"].asDouble() + exchange["back"]["min"].asDouble(),
                      exchange["round_trip"]["median"].asDouble());
        }
    }
}

TEST(Probe, Signals) {
    const auto result = probe("--measure signal --samples 100 --ordinary");
    if (result.isNull()) {
        GTEST_SKIP() << "needs two processors";
    }
    ASSERT_EQ(result["signal"].size(), result["cpus"].size());
    for (const auto& signal : result["signal"]) {
        EXPECT_NE(signal["from"], signal["to"]);
        expect_ordered(signal["wake"], 100 - signal["inversions"].asUInt64());
    }
}

TEST(Probe, SwitchNeedsFifo) {
    const auto result = probe("--measure switch --samples 200 --ordinary");
    ASSERT_TRUE(result.isObject());
    EXPECT_TRUE(result["switch"][0].isMember("refused"))
        << "an ordinary switch is none of a real-time thread";
    const auto fifo = probe("--measure switch --samples 200");
    ASSERT_TRUE(fifo.isObject());
    if (!fifo["switch"][0].isMember("refused")) {
        expect_ordered(fifo["switch"][0]["dispatch"], 199);
        EXPECT_TRUE(fifo["switch"][0].isMember("yield"));
    }
}

TEST(Probe, ExitStatuses) {
    EXPECT_EQ(status_of(start({probe_program, "--measure", "nothing"})), 2);
    EXPECT_EQ(status_of(start({probe_program, "--measure", ""})), 2);
    EXPECT_EQ(status_of(start({probe_program, "--cpus", "60000"})), 2);
    EXPECT_EQ(status_of(start({probe_program, "--samples", "0"})), 2);
    EXPECT_EQ(status_of(start({probe_program, "--help"})), 0);
}
