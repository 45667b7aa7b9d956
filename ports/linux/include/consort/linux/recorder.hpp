// SPDX-License-Identifier: Apache-2.0
//
// Recording: tables of plain records in locked memory while the run lasts, files afterwards.
//
// A raw run folder holds one binary file for each table (fixed-size little-endian records) and manifest.json,
// which is written last and by renaming: a folder with a manifest is complete, one without is not a record.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "consort/linux/clock.hpp"
#include "consort/linux/json.hpp"
#include "consort/linux/locked_buffer.hpp"
#include "consort/linux/realtime.hpp"

namespace consort::linux_port {

static_assert(std::endian::native == std::endian::little,
              "the raw run folder is little-endian and this port writes records as they lie in memory");

struct Field {
    std::string name;
    std::string type;  // u1 u2 u4 u8 i1 i2 i4 i8 f4 f8
    std::size_t offset = 0;
    std::string unit;  // "tick", "B", …; empty for a plain number
    std::string kind;  // "timestamp" or "duration" where the unit is "tick"
};

namespace detail {

template <class T>
std::string type_code() {
    static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8,
                  "a field is an integer or a float of at most 8 bytes");
    const char* letter = std::is_floating_point_v<T> ? "f" : (std::is_signed_v<T> ? "i" : "u");
    return letter + std::to_string(sizeof(T));
}

}  // namespace detail

// A bounded table in memory that never faults. `push` is wait-free: it copies one record, or counts it as
// lost when the table is full. One thread pushes; the table is written out when the run has ended.
template <class Record>
class Table {
    static_assert(std::is_trivially_copyable_v<Record> && std::is_standard_layout_v<Record>,
                  "a record is a plain struct: its bytes are written to the file as they are");

  public:
    Table(std::string name, std::size_t capacity)
        : name_(std::move(name)), capacity_(capacity), memory_(bytes_for(capacity)) {}

    // Describes one member. Members that are not described are not visible to who reads the file.
    template <class Member>
    Table& field(std::string name, Member Record::*member, std::string unit = "", std::string kind = "") {
        const Record sample{};
        const auto* base = reinterpret_cast<const std::byte*>(&sample);
        const auto* place = reinterpret_cast<const std::byte*>(&(sample.*member));
        fields_.push_back({std::move(name), detail::type_code<Member>(),
                           static_cast<std::size_t>(place - base), std::move(unit), std::move(kind)});
        return *this;
    }

    // As above, for a member whose place is known in another way (a Layout's leaf).
    Table& describe(Field field) {
        fields_.push_back(std::move(field));
        return *this;
    }

    template <class Member>
    Table& timestamp(std::string name, Member Record::*member) {
        return field(std::move(name), member, "tick", "timestamp");
    }

    template <class Member>
    Table& duration(std::string name, Member Record::*member) {
        return field(std::move(name), member, "tick", "duration");
    }

    bool push(const Record& record) noexcept {
        if (size_ == capacity_) [[unlikely]] {
            ++lost_;
            return false;
        }
        std::memcpy(memory_.data() + size_ * sizeof(Record), &record, sizeof(Record));
        ++size_;
        return true;
    }

    [[nodiscard]] Record operator[](std::size_t row) const noexcept {
        Record record;
        std::memcpy(&record, memory_.data() + row * sizeof(Record), sizeof(Record));
        return record;
    }

    // For what is only known after the run; `row` < size().
    void replace(std::size_t row, const Record& record) noexcept {
        std::memcpy(memory_.data() + row * sizeof(Record), &record, sizeof(Record));
    }

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
    [[nodiscard]] const std::vector<Field>& fields() const noexcept { return fields_; }
    [[nodiscard]] const LockedBuffer& memory() const noexcept { return memory_; }
    [[nodiscard]] const std::byte* data() const noexcept { return memory_.data(); }

    json::Value attrs = json::object();

  private:
    static std::size_t bytes_for(std::size_t capacity) {
        std::size_t bytes = 0;
        if (__builtin_mul_overflow(capacity, sizeof(Record), &bytes)) {
            throw std::length_error("a table of that many records does not fit into the address space");
        }
        return bytes;
    }

    std::string name_;
    std::size_t capacity_;
    LockedBuffer memory_;
    std::size_t size_ = 0;
    std::uint64_t lost_ = 0;
    std::vector<Field> fields_;
};

inline json::Value to_json(const ClockInfo& clock) {
    return json::object({{"name", clock.name},
                         {"ticks_per_second", static_cast<double>(clock.hz)},
                         {"resolution_ticks", clock.resolution},
                         {"provenance", clock.provenance},
                         {"source", clock.source},
                         {"disagreement_ppm", clock.disagreement_ppm},
                         {"notes", clock.notes}});
}

inline json::Value to_json(const Realtime& realtime) {
    return json::object({{"cpu", realtime.cpu},
                         {"policy", realtime.policy},
                         {"priority", realtime.priority},
                         {"mlockall", realtime.mlockall},
                         {"cpu_dma_latency", realtime.cpu_dma_latency},
                         {"huge_pages", realtime.huge_pages},
                         {"notes", realtime.notes}});
}

// Writes a raw run folder. Destroyed without `finish`, or when writing fails, it removes what it had written.
class RawWriter {
  public:
    // `folder`: existing and empty, or, where a record is completed that another process began, existing.
    // Throws std::invalid_argument where it is not.
    explicit RawWriter(std::filesystem::path folder, std::string program, bool completes = false)
        : folder_(std::move(folder)), program_(std::move(program)) {
        std::error_code error;
        if (!std::filesystem::is_directory(folder_, error)) {
            throw std::invalid_argument("--raw " + folder_.string() + ": not a directory");
        }
        if (!completes && !std::filesystem::is_empty(folder_, error)) {
            throw std::invalid_argument("--raw " + folder_.string() + ": the directory is not empty");
        }
    }
    RawWriter(const RawWriter&) = delete;
    RawWriter& operator=(const RawWriter&) = delete;
    ~RawWriter() {
        if (!finished_) {
            for (const std::string& name : written_) {
                std::error_code ignored;
                std::filesystem::remove(folder_ / name, ignored);
            }
        }
    }

    json::Value config = json::object();

    template <class Record>
    void table(const Table<Record>& table) {
        check_name(table.name());
        const std::string file = table.name() + ".bin";
        write(file, table.data(), table.size() * sizeof(Record));
        json::Value fields = json::array();
        for (const Field& f : table.fields()) {
            json::Value field = json::object({{"name", f.name}, {"type", f.type}, {"offset", f.offset}});
            if (!f.unit.empty()) {
                field["unit"] = f.unit;
            }
            if (!f.kind.empty()) {
                field["kind"] = f.kind;
            }
            fields.append(std::move(field));
        }
        json::Value attrs = table.attrs;
        attrs["lost"] = table.lost();
        tables_.append(json::object({{"name", table.name()},
                                     {"file", file},
                                     {"rows", table.size()},
                                     {"record_bytes", sizeof(Record)},
                                     {"fields", fields},
                                     {"attrs", attrs}}));
        lost_ += table.lost();
        huge_pages_ = huge_pages_ || table.memory().pages() != Pages::plain;
        memory_notes_.insert(memory_notes_.end(), table.memory().notes().begin(),
                             table.memory().notes().end());
    }

    // A table whose file NAME.bin was written while the system ran.
    void streamed(const std::string& name, std::uint64_t rows, std::size_t record_bytes,
                  const json::Value& fields) {
        check_name(name);
        written_.push_back(name + ".bin");
        tables_.append(json::object({{"name", name},
                                     {"file", name + ".bin"},
                                     {"rows", rows},
                                     {"record_bytes", record_bytes},
                                     {"fields", fields},
                                     {"attrs", json::object()}}));
    }
    // Records that found no room.
    void lost(std::uint64_t records) { lost_ += records; }

    void event(std::uint64_t tick, std::string_view name, const json::Value& args = json::object()) {
        events_.append(json::object({{"tick", tick}, {"name", name}, {"args", args}}));
    }

    void counter(std::string_view name, std::uint64_t value) { counters_[std::string(name)] = value; }

    void realtime(const Realtime& achieved) { realtime_ = achieved; }

    // Adds the achieved settings of another process of the program.
    void worker_realtime(const std::string& name, const Realtime& achieved) {
        json::Value worker = to_json(achieved);
        // The buffers of a worker are the channels, of which it maps what the supervisor made.
        worker.removeMember("huge_pages");
        worker["name"] = name;
        workers_.append(std::move(worker));
    }

    // Completes the folder. What the tables' memory got is added to the real-time part.
    void finish() {
        counters_["records_lost"] = lost_;
        realtime_.huge_pages = realtime_.huge_pages || huge_pages_;
        for (const std::string& note : memory_notes_) {
            if (std::find(realtime_.notes.begin(), realtime_.notes.end(), note) == realtime_.notes.end()) {
                realtime_.notes.push_back(note);
            }
        }
        // A clock that the program drives says nothing of this machine.
        json::Value realtime = Clock::info().provenance == "measured"
                                   ? to_json(realtime_)
                                   : json::object({{"notes", realtime_.notes}});
        if (!workers_.empty()) {
            realtime["workers"] = workers_;
        }
        const json::Value manifest = json::object({{"format", 1},
                                                   {"program", program_},
                                                   {"config", config},
                                                   {"clock", to_json(Clock::info())},
                                                   {"tables", tables_},
                                                   {"events", events_},
                                                   {"counters", counters_},
                                                   {"realtime", realtime}});
        const std::string text = json::written(manifest, json::Form::lines) + "\n";
        const std::string temporary = "manifest.json.part";
        write(temporary, text.data(), text.size());
        written_.emplace_back("manifest.json");
        if (::rename((folder_ / temporary).c_str(), (folder_ / "manifest.json").c_str()) != 0) {
            fail("rename", folder_ / temporary);
        }
        sync_folder();
        finished_ = true;
    }

  private:
    [[noreturn]] static void fail(const char* what, const std::filesystem::path& path) {
        throw std::system_error(errno, std::generic_category(), std::string(what) + " " + path.string());
    }

    static void check_name(std::string_view name) {
        const bool plain =
            !name.empty() && name.find_first_not_of(
                                 "abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == std::string_view::npos;
        if (!plain) {
            throw std::invalid_argument("a table's name is letters, digits, _ and -: '" + std::string(name) +
                                        "'");
        }
    }

    void write(const std::string& name, const void* data, std::size_t bytes) {
        const auto path = folder_ / name;
        const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd < 0) {
            fail("create", path);
        }
        written_.push_back(name);
        const auto* from = static_cast<const std::byte*>(data);
        while (bytes > 0) {
            const ssize_t done = ::write(fd, from, bytes);
            if (done < 0 && errno == EINTR) {
                continue;
            }
            if (done <= 0) {
                close_and_fail("write", path, fd);
            }
            from += done;
            bytes -= static_cast<std::size_t>(done);
        }
        // Delayed allocation: only fsync tells that the disk had room.
        if (::fsync(fd) != 0) {
            close_and_fail("fsync", path, fd);
        }
        if (::close(fd) != 0) {
            fail("close", path);
        }
    }

    [[noreturn]] static void close_and_fail(const char* what, const std::filesystem::path& path, int fd) {
        const int error = errno;
        ::close(fd);
        errno = error;
        fail(what, path);
    }

    void sync_folder() const {
        const int fd = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0) {
            fail("open", folder_);
        }
        if (::fsync(fd) != 0) {
            close_and_fail("fsync", folder_, fd);
        }
        ::close(fd);
    }

    std::filesystem::path folder_;
    std::string program_;
    json::Value tables_ = json::array();
    json::Value events_ = json::array();
    json::Value counters_ = json::object();
    Realtime realtime_;
    json::Value workers_ = json::array();
    std::uint64_t lost_ = 0;
    bool huge_pages_ = false;
    std::vector<std::string> memory_notes_;
    std::vector<std::string> written_;
    bool finished_ = false;
};

}  // namespace consort::linux_port
