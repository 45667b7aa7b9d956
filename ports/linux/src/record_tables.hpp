// SPDX-License-Identifier: Apache-2.0
//
// The tables of a record: the rings of a run, emptied into their files, and the manifest that says what
// these hold (docs/reference/run-record.md).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "consort/linux/executive/files.hpp"
#include "consort/linux/executive/shared.hpp"
#include "consort/linux/executive/summary_page.hpp"
#include "consort/linux/json.hpp"
#include "consort/linux/recorder.hpp"
#include "describe.hpp"
#include "record_files.hpp"

namespace consort::linux_port {

class RecordTables {
  public:
    RecordTables(const RunConfig& config, const Catalogue& catalogue, SharedRun& shared)
        : config_(&config), catalogue_(&catalogue), shared_(&shared) {
        for (std::size_t i = 0; i < shared.rings.size(); ++i) {
            readers_.emplace_back(shared.rings.at(i));
        }
    }

    // Jobs and events are added to this page, too. It outlives the last drain().
    void watched(SummaryPage& page) { watched_ = &page; }

    // The records of each ring that found no room.
    [[nodiscard]] std::vector<std::uint64_t> lost() const {
        std::vector<std::uint64_t> counts;
        for (const app::RingReader& reader : readers_) {
            counts.push_back(reader.lost());
        }
        return counts;
    }

    // Tables of the record, by number: three of the run, then two of each task.
    static constexpr std::size_t jobs_table = 0;
    static constexpr std::size_t operations_table = 1;
    static constexpr std::size_t events_table = 2;
    static constexpr std::size_t outputs_table(std::size_t task) { return 3 + 2 * task; }
    static constexpr std::size_t served_table(std::size_t task) { return 4 + 2 * task; }
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> names = {"jobs", "operations", "events"};
        for (std::size_t i = 0; i < catalogue_->tasks.size(); ++i) {
            names.push_back("outputs-" + std::to_string(i));
            names.push_back("served-" + std::to_string(i));
        }
        return names;
    }

    // The record that another process of the run began, which is gone: what it wrote of it counts.
    void take_up(RecordFiles& files, const std::filesystem::path& folder) {
        const std::vector<std::string> names = this->names();
        const auto each = [&](std::size_t table, std::size_t bytes, auto&& seen) {
            files.take_up(table, bytes);
            std::ifstream file(folder / (names[table] + ".bin"), std::ios::binary);
            std::vector<std::byte> row(bytes);
            while (file.read(reinterpret_cast<char*>(row.data()), static_cast<std::streamsize>(bytes))) {
                seen(row.data());
            }
        };
        each(jobs_table, sizeof(Job), [this](const std::byte* row) { count(row); });
        each(operations_table, sizeof(Operation), [this](const std::byte* row) { count_operation(row); });
        each(events_table, sizeof(Event), [this](const std::byte* row) { count_event(row); });
        for (std::size_t i = 0; i < catalogue_->tasks.size(); ++i) {
            files.take_up(outputs_table(i), sizeof(std::uint64_t) + catalogue_->tasks[i].out.bytes);
            files.take_up(served_table(i), sizeof(ServedRow));
        }
    }

    void drain(RecordFiles& files) {
        for (app::RingReader& reader : readers_) {
            reader.drain([&](const app::RecordHead& head, const std::byte* body) {
                switch (head.table) {
                    case app::RecordTable::job:
                        count(body);
                        files.append(jobs_table, body, sizeof(Job));
                        break;
                    case app::RecordTable::operation:
                        count_operation(body);
                        files.append(operations_table, body, sizeof(Operation));
                        break;
                    case app::RecordTable::event:
                        count_event(body);
                        files.append(events_table, body, sizeof(Event));
                        break;
                    case app::RecordTable::output:
                        files.append(outputs_table(head.task), body,
                                     sizeof(std::uint64_t) + catalogue_->tasks[head.task].out.bytes);
                        break;
                    case app::RecordTable::served:
                        files.append(served_table(head.task), body, sizeof(ServedRow));
                        break;
                    case app::RecordTable::padding:
                        break;
                }
            });
        }
    }

    // Once `files` are closed. Releases counted from `start`.
    void complete(RawWriter& writer, const RecordFiles& files, Ticks start, const RunRecord::Cost& cost) {
        writer.config = json::parsed(config_->record, "the configuration");
        writer.config["start_tick"] = start;
        const std::vector<std::string> names = this->names();
        const auto stream = [&](std::size_t table, std::size_t bytes, const json::Value& fields) {
            if (files.written(table)) {
                writer.streamed(names[table], files.rows(table), bytes, fields);
            }
        };
        stream(jobs_table, sizeof(Job), fields_of(type_info<Job>(), 0, job_kind));
        stream(operations_table, sizeof(Operation), fields_of(type_info<Operation>(), 0, time_kind));
        stream(events_table, sizeof(Event), fields_of(type_info<Event>(), 0, time_kind));
        for (std::size_t i = 0; i < catalogue_->tasks.size(); ++i) {
            const TypeInfo& out = catalogue_->tasks[i].out;
            json::Value fields = fields_of(out, sizeof(std::uint64_t), no_kind);
            fields.insert(0, json::object({{"name", "seq"}, {"type", "u4"}, {"offset", 0}}));
            stream(outputs_table(i), sizeof(std::uint64_t) + out.bytes, fields);
            stream(served_table(i), sizeof(ServedRow), fields_of(type_info<ServedRow>(), 0, served_kind));
        }
        std::uint64_t lost = 0;
        std::uint32_t fullest = 0;
        for (const app::RingReader& reader : readers_) {
            lost += reader.lost();
            fullest = std::max(fullest, reader.fullest());
        }
        writer.counter("jobs", jobs_);
        for (std::size_t i = 0; i < statuses.size(); ++i) {
            writer.counter(statuses[i].counter, with_status_[i]);
        }
        std::uint64_t deaths = 0;
        std::uint64_t tasks_cpu_ns = 0;
        for (std::size_t i = 0; i < config_->cores.size(); ++i) {
            deaths += shared_->cores[i].deaths.load();
            tasks_cpu_ns += shared_->cores[i].cpu_ns.load();
        }
        writer.counter("worker_deaths", deaths);
        if (!config_->links.empty()) {
            std::uint64_t link_deaths = 0;
            for (std::size_t i = 0; i < config_->links.size(); ++i) {
                link_deaths += shared_->links[i].deaths.load();
            }
            writer.counter("link_blocks", delivered_);
            writer.counter("link_failures", link_failures_);
            writer.counter("link_deaths", link_deaths);
        }
        writer.counter("tasks_cpu_us", tasks_cpu_ns / 1000);
        writer.counter("recorder_cpu_us", cost.cpu_ns / 1000);
        writer.counter("ring_fullest_bytes", fullest);
        writer.counter("recorder_longest_pause_us", cost.longest_pause_ns / 1000);
        writer.lost(lost);
        bool first = true;
        for (std::size_t i = 0; i < config_->cores.size(); ++i) {
            const AchievedRealtime& achieved = shared_->realtime[i];
            if (achieved.written.load(std::memory_order_acquire) == 0) {
                continue;
            }
            if (first) {
                writer.realtime(achieved.get());
                first = false;
            }
            writer.worker_realtime(config_->cores[i].name, achieved.get());
        }
        writer.finish();
    }

  private:
    // The counts of each job's status.
    struct CountedStatus {
        const char* counter;
        std::uint32_t bit;
    };
    static constexpr std::array<CountedStatus, 7> statuses = {{
        {"deadline_misses", job_status::missed},
        {"outputs_held", job_status::held},
        {"local_fallbacks", job_status::fallback},
        {"late_answers_discarded", job_status::late_answer},
        {"late_releases", job_status::late_release},
        {"unserved", job_status::unserved},
        {"aborted", job_status::aborted},
    }};

    void count(const std::byte* body) {
        Job job;
        std::memcpy(&job, body, sizeof job);
        ++jobs_;
        for (std::size_t i = 0; i < statuses.size(); ++i) {
            with_status_[i] += (job.status & statuses[i].bit) != 0 ? 1 : 0;
        }
        if (watched_ != nullptr) {
            watched_->add(job);
        }
    }

    void count_operation(const std::byte* body) {
        Operation made;
        std::memcpy(&made, body, sizeof made);
        if (made.kind == Operation::delivered) {
            ++delivered_;
            if (watched_ != nullptr) {
                watched_->add_delivery();
            }
        }
    }
    void count_event(const std::byte* body) {
        Event event;
        std::memcpy(&event, body, sizeof event);
        link_failures_ += event.kind == Event::link_failed ? 1 : 0;
        if (watched_ != nullptr) {
            watched_->add(event);
        }
    }

    static const char* no_kind(const std::string& /*name*/) { return ""; }
    static const char* time_kind(const std::string& name) { return name == "time" ? "timestamp" : ""; }
    static const char* served_kind(const std::string& name) {
        return name == "receive" || name == "send" ? "timestamp" : "";
    }
    static const char* job_kind(const std::string& name) {
        if (name == "compute") {
            return "duration";
        }
        return name == "seq" || name == "status" || name == "task" || name == "core" || name == "input"
                   ? ""
                   : "timestamp";
    }

    // A leaf's path as a column's name: "axes[2].limit" is axes_2_limit.
    static std::string column_name(std::string_view path) {
        std::string name;
        for (const char c : path) {
            if (c == '[' || c == '.') {
                name += '_';
            } else if (c != ']') {
                name += c;
            }
        }
        return name.empty() ? "value" : name;
    }

    static json::Value fields_of(const TypeInfo& type, std::size_t offset,
                                 const char* (*kind)(const std::string&)) {
        json::Value fields = json::array();
        if (type.opaque()) {
            // Members that nobody knows: columns of words.
            for (std::uint32_t at = 0; at < type.bytes;) {
                const std::uint32_t width = type.bytes - at >= 8 ? 8 : 1;
                fields.append(json::object({{"name", "bytes_" + std::to_string(at)},
                                            {"type", "u" + std::to_string(width)},
                                            {"offset", offset + at}}));
                at += width;
            }
            return fields;
        }
        for (std::size_t i = 0; i < type.count; ++i) {
            const Leaf& leaf = type.leaves[i];
            const std::string name = column_name(type.name(i).view());
            for (std::uint32_t n = 0; n < leaf.count; ++n) {
                json::Value field =
                    json::object({{"name", leaf.count > 1 ? name + "_" + std::to_string(n) : name},
                                  {"type", numpy_code(leaf)},
                                  {"offset", offset + leaf.offset + std::size_t{n} * leaf.size}});
                if (const std::string what = kind(name); !what.empty()) {
                    field["unit"] = "tick";
                    field["kind"] = what;
                }
                fields.append(std::move(field));
            }
        }
        return fields;
    }

    const RunConfig* config_;
    const Catalogue* catalogue_;
    SharedRun* shared_;
    std::vector<app::RingReader> readers_;
    SummaryPage* watched_ = nullptr;
    std::uint64_t jobs_ = 0;
    std::uint64_t delivered_ = 0;
    std::uint64_t link_failures_ = 0;
    std::array<std::uint64_t, statuses.size()> with_status_{};
};

}  // namespace consort::linux_port
