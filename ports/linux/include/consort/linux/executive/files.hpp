// SPDX-License-Identifier: Apache-2.0
//
// The files of a run, as the executive sees them: its configuration, its record, and its layouts in JSON.
// Their formats are known to src/files.cpp alone, the one unit of a program that includes a JSON library.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "consort/linux/executive/catalogue.hpp"
#include "consort/linux/executive/config.hpp"
#include "consort/linux/executive/shared.hpp"
#include "consort/linux/executive/summary_page.hpp"

namespace consort::linux_port {

// Reads the configuration of a run: a JSON file, and the plan image that it names. Throws
// std::invalid_argument with the key that is wrong.
RunConfig read_run_config(const std::string& path);

// The layouts of a program's tasks, channels and devices and of the record's structs, as JSON.
std::string described(const Catalogue& catalogue);

// Writes each task's constants, and its state before the first job: <task>.constants, <task>.state, where
// <task> is its position. Throws std::invalid_argument.
void write_parts(const Catalogue& catalogue, const std::filesystem::path& folder);

// Computes the recorded jobs once more (src/replay.hpp). `raw`: a complete raw run folder of this
// configuration. `only`: the task that a debugger is to see; empty: all. Throws std::invalid_argument.
int replay(const RunConfig& config, const Catalogue& catalogue, const std::filesystem::path& raw,
           const std::string& only);

// A record that is being written: what the rings of a run hold goes to files in `raw`, an empty folder.
// Destroyed before it is complete, it leaves the tables without a manifest.
class RunRecord {
  public:
    RunRecord(const RunConfig& config, const Catalogue& catalogue, SharedRun& shared,
              std::filesystem::path raw);
    RunRecord(const RunRecord&) = delete;
    RunRecord& operator=(const RunRecord&) = delete;
    ~RunRecord();

    // Jobs and events are added to this page, too. It outlives the last drain().
    void watched(SummaryPage& page);
    // The records of each ring that found no room.
    [[nodiscard]] std::vector<std::uint64_t> lost() const;
    // Empties the rings into memory.
    void drain();
    // Hands what was drained over to the thread that writes it, where that is worth a wake-up.
    void flush();
    // Waits until everything that was drained is in the files.
    void settle();

    // The cost of recording itself.
    struct Cost {
        std::uint64_t cpu_ns = 0;
        std::uint64_t longest_pause_ns = 0;  // between two drains
    };
    // Closes the files. Throws std::system_error where something could not be written.
    void close();
    // Writes the manifest, once the files are closed. Releases counted from `start`.
    void complete(Ticks start, const Cost& cost);

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

// Completes the record of a process that ended before the run did, from its files. `rings`: what lies in the
// rings follows what is in the files. Where the recorder had taken rows out and not written them yet, it does
// not, and is left out.
void complete_record(const RunConfig& config, const Catalogue& catalogue, SharedRun& shared,
                     const std::filesystem::path& raw, Ticks start, bool rings);

// When the run of a record without a manifest began, for who completes it; 0: it did not.
Ticks start_of(const std::filesystem::path& raw);
void note_start(const std::filesystem::path& raw, Ticks start);

}  // namespace consort::linux_port
