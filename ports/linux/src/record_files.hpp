// SPDX-License-Identifier: Apache-2.0
//
// The files of a record. One thread copies what the rings held to memory, another one writes it, so that a
// slow disk does not fill a ring. Buffers are kept and reused: memory that is given back costs a page fault
// each time it is touched anew.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace consort::linux_port {

class RecordFiles {
  public:
    // One file for each table: <folder>/<name>.bin, made with its first row; `first` is made in any case.
    RecordFiles(std::filesystem::path folder, const std::vector<std::string>& tables, std::size_t first)
        : folder_(std::move(folder)), first_(first) {
        for (const std::string& name : tables) {
            tables_.push_back({name, {}, {}, 0, nullptr});
        }
        thread_ = std::thread([this] { write(); });
    }
    RecordFiles(const RecordFiles&) = delete;
    RecordFiles& operator=(const RecordFiles&) = delete;
    ~RecordFiles() { close(); }

    // A row of the table with this number.
    void append(std::size_t table, const std::byte* bytes, std::size_t count) {
        Table& to = tables_[table];
        to.filling.insert(to.filling.end(), bytes, bytes + count);
        ++to.rows;
        pending_ += count;
    }

    // Goes on behind the last whole row of a table that another process wrote, which is gone. Called before
    // anything is appended.
    void take_up(std::size_t table, std::size_t row_bytes) {
        Table& to = tables_[table];
        const auto file = folder_ / (to.name + ".bin");
        std::error_code none;
        const auto size = std::filesystem::file_size(file, none);
        if (none) {
            return;
        }
        to.rows = size / row_bytes;
        std::filesystem::resize_file(file, to.rows * row_bytes);
        to.file = std::fopen(file.c_str(), "ab");
        if (to.file == nullptr) {
            error_ = errno;
        }
    }

    // Hands what was appended over to the writing thread, unless it is busy, or there is little and it is not
    // long ago that it was given something.
    void flush() {
        const auto now = std::chrono::steady_clock::now();
        if (pending_ >= least || (pending_ != 0 && now - flushed_ > longest)) {
            flushed_ = hand_over() ? now : flushed_;
        }
    }
    // Everything that was appended is in the files afterwards.
    void settle() {
        while (pending_ != 0 && !hand_over()) {
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        std::unique_lock lock(mutex_);
        idle_.wait(lock, [this] { return !busy_; });
    }

    // Everything is in the files afterwards; error() says if something could not be written.
    void close() {
        if (!thread_.joinable()) {
            return;
        }
        while (pending_ != 0 && !hand_over()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        {
            const std::lock_guard lock(mutex_);
            closing_ = true;
            wake_.notify_one();
        }
        thread_.join();
        open(tables_[first_]);
        for (Table& table : tables_) {
            if (table.file == nullptr) {
                continue;
            }
            if (std::fflush(table.file) != 0 || ::fsync(::fileno(table.file)) != 0) {
                error_ = error_ == 0 ? errno : error_.load();
            }
            std::fclose(table.file);
            table.file = nullptr;
        }
    }

    [[nodiscard]] int error() const noexcept { return error_; }
    // The rows of one table, and true if it has a file.
    [[nodiscard]] std::uint64_t rows(std::size_t table) const { return tables_[table].rows; }
    [[nodiscard]] bool written(std::size_t table) const {
        return table == first_ || tables_[table].rows != 0;
    }

  private:
    struct Table {
        std::string name;
        std::vector<std::byte> filling;
        std::vector<std::byte> writing;  // the writing thread's while `busy_`
        std::uint64_t rows;
        std::FILE* file;
    };

    bool hand_over() {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock.owns_lock() || busy_) {
            return false;
        }
        for (Table& table : tables_) {
            table.writing.swap(table.filling);
        }
        pending_ = 0;
        busy_ = true;
        wake_.notify_one();
        return true;
    }

    void write() {
        for (;;) {
            {
                std::unique_lock lock(mutex_);
                wake_.wait(lock, [this] { return busy_ || closing_; });
                if (!busy_) {
                    return;
                }
            }
            for (Table& table : tables_) {
                if (table.writing.empty()) {
                    continue;
                }
                open(table);
                const std::size_t count = table.writing.size();
                // Flushed: whoever completes the record, should this process be killed, finds it in the file.
                if (table.file == nullptr ||
                    std::fwrite(table.writing.data(), 1, count, table.file) != count ||
                    std::fflush(table.file) != 0) {
                    error_ = errno;
                }
                table.writing.clear();
            }
            const std::lock_guard lock(mutex_);
            busy_ = false;
            idle_.notify_one();
        }
    }

    void open(Table& table) {
        if (table.file != nullptr) {
            return;
        }
        table.file = std::fopen((folder_ / (table.name + ".bin")).c_str(), "wbx");
        if (table.file == nullptr) {
            error_ = errno;
        }
    }

    // A wake-up of the writing thread costs as much as copying this.
    static constexpr std::size_t least = std::size_t{1} << 18U;
    // A record whose recorder was killed lacks at most this much.
    static constexpr std::chrono::milliseconds longest{500};

    std::filesystem::path folder_;
    std::size_t first_;
    std::vector<Table> tables_;
    std::size_t pending_ = 0;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable idle_;
    std::chrono::steady_clock::time_point flushed_ = std::chrono::steady_clock::now();
    bool busy_ = false;
    bool closing_ = false;
    std::atomic<int> error_{0};
    std::thread thread_;
};

}  // namespace consort::linux_port
