// SPDX-License-Identifier: Apache-2.0
//
// The files of a run in their formats: the one unit of a program that reads and writes JSON.
#include "consort/linux/executive/files.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "describe.hpp"
#include "read_config.hpp"
#include "record_files.hpp"
#include "record_tables.hpp"
#include "replay.hpp"

namespace consort::linux_port {

RunConfig read_run_config(const std::string& path) {
    return run_config_of(path);
}

std::string described(const Catalogue& catalogue) {
    return json::written(describe(catalogue));
}

void write_parts(const Catalogue& catalogue, const std::filesystem::path& folder) {
    const auto write = [&](std::size_t task, const char* part, const std::byte* from, std::size_t bytes) {
        const auto file = folder / (std::to_string(task) + "." + part);
        std::ofstream out(file, std::ios::binary);
        if (!out.write(reinterpret_cast<const char*>(from), static_cast<std::streamsize>(bytes)).flush()) {
            throw std::invalid_argument(file.string() + ": cannot be written");
        }
    };
    for (std::size_t i = 0; i < catalogue.tasks.size(); ++i) {
        const StepEntry& task = catalogue.tasks[i];
        std::vector<std::byte> state(task.footprint.data);
        task.fresh_state(state.data());
        write(i, "constants", task.constants_image(), task.footprint.code);
        write(i, "state", state.data(), state.size());
    }
}

int replay(const RunConfig& config, const Catalogue& catalogue, const std::filesystem::path& raw,
           const std::string& only) {
    const std::string name = raw / "manifest.json";
    std::ifstream file(name);
    if (!file) {
        throw std::invalid_argument(name + ": cannot be read");
    }
    const json::Value manifest = json::parsed(file, name);
    const json::Value& rate =
        detail::member(detail::member(manifest, "clock", name), "ticks_per_second", name + ": clock");
    if (!rate.isNumeric()) {
        throw std::invalid_argument(name + ": it does not say how fast its clock goes");
    }
    Clock::use_rate(static_cast<std::uint64_t>(std::llround(rate.asDouble())));
    const auto start =
        detail::required<Ticks>(detail::member(manifest, "config", name), "start_tick", name + ": config");
    return detail::Replay(config, catalogue, raw, start, only).run();
}

namespace {

// Throws std::system_error where something could not be written.
void close(RecordFiles& files, const std::filesystem::path& folder) {
    files.close();
    if (files.error() != 0) {
        throw std::system_error(files.error(), std::generic_category(), "the record in " + folder.string());
    }
}

}  // namespace

struct RunRecord::Parts {
    Parts(const RunConfig& config, const Catalogue& catalogue, SharedRun& shared, std::filesystem::path raw)
        : folder(std::move(raw)),
          writer(folder, "consort run"),
          tables(config, catalogue, shared),
          files(folder, tables.names(), RecordTables::jobs_table) {}

    std::filesystem::path folder;
    RawWriter writer;
    RecordTables tables;
    RecordFiles files;
};

RunRecord::RunRecord(const RunConfig& config, const Catalogue& catalogue, SharedRun& shared,
                     std::filesystem::path raw)
    : parts_(std::make_unique<Parts>(config, catalogue, shared, std::move(raw))) {}
RunRecord::~RunRecord() = default;
void RunRecord::watched(SummaryPage& page) {
    parts_->tables.watched(page);
}
std::vector<std::uint64_t> RunRecord::lost() const {
    return parts_->tables.lost();
}
void RunRecord::drain() {
    parts_->tables.drain(parts_->files);
}
void RunRecord::flush() {
    parts_->files.flush();
}
void RunRecord::settle() {
    parts_->files.settle();
}
void RunRecord::close() {
    linux_port::close(parts_->files, parts_->folder);
}
void RunRecord::complete(Ticks start, const Cost& cost) {
    parts_->tables.complete(parts_->writer, parts_->files, start, cost);
}

void complete_record(const RunConfig& config, const Catalogue& catalogue, SharedRun& shared,
                     const std::filesystem::path& raw, Ticks start, bool rings) {
    RawWriter writer(raw, "consort run", true);
    RecordTables tables(config, catalogue, shared);
    RecordFiles files(raw, tables.names(), RecordTables::jobs_table);
    tables.take_up(files, raw);
    if (rings) {
        tables.drain(files);
    }
    close(files, raw);
    tables.complete(writer, files, start, {});
}

Ticks start_of(const std::filesystem::path& raw) {
    std::ifstream file(raw / "start");
    Ticks start = 0;
    return file >> start ? start : 0;
}
void note_start(const std::filesystem::path& raw, Ticks start) {
    std::ofstream(raw / "start") << start;
}

}  // namespace consort::linux_port
