// SPDX-License-Identifier: Apache-2.0
//
// Empties the rings into files while the system runs, starts the run once every core is attached, ends it
// when every core has finished, and completes the raw run folder (docs/reference/run-record.md).
//
// An ordinary process: it may be kept from its processor for seconds, which the rings bridge.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "consort/linux/executive/doorbell.hpp"
#include "consort/linux/executive/files.hpp"
#include "consort/linux/executive/shared.hpp"
#include "consort/linux/executive/summary_page.hpp"
#include "consort/linux/executive/where.hpp"

namespace consort::linux_port {

class RecorderProcess {
  public:
    // `summary`: the memory that `consort watch` looks at; empty: nobody can watch.
    RecorderProcess(const RunConfig& config, const Catalogue& catalogue, SharedRun& shared,
                    std::filesystem::path raw, const std::string& summary)
        : config_(&config), shared_(&shared), record_(config, catalogue, shared, raw), raw_(std::move(raw)) {
        if (!summary.empty()) {
            record_.watched(summary_.emplace(config, summary));
        }
    }

    // 0: the run is complete and recorded; 1: recorded, but it ended before its last job.
    int run() {
        const bool began = begin();
        const std::uint64_t cpu_before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        std::uint64_t last = clock_ns(CLOCK_MONOTONIC);
        while (!finished()) {
            record_.drain();
            record_.flush();
            pass_request_on();
            // The rings hold seconds, and a wake-up costs as much as copying some hundred records.
            timespec time{0, wakes_every_ns};
            ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
            const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
            longest_pause_ = std::max(longest_pause_, now - last);
            last = now;
            if (now - summarised_ >= summary_interval_ns) {
                summarised_ = now;
                summarise(SummaryHead::running);
            }
        }
        shared_->run[0].stop_workers.store(1, std::memory_order_relaxed);
        while (workers_alive()) {
            record_.drain();
            timespec time{0, 1'000'000};
            ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
        }
        record_.drain();
        summarise(SummaryHead::ended);
        record_.close();
        const std::uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_before;
        record_.complete(start_, {cpu_ns, longest_pause_});
        return began && !shared_->stopping() ? 0 : 1;
    }

  private:
    // Every core is attached, or one of them is gone.
    bool begin() {
        for (;;) {
            bool all = true;
            for (std::uint16_t i = 0; i < config_->cores.size(); ++i) {
                if (!used(*config_, i)) {
                    continue;
                }
                const CoreLine& core = shared_->cores[i];
                all = all && core.ready.load(std::memory_order_acquire) != 0;
                if (died(i)) {
                    shared_->stop();
                    return false;
                }
            }
            for (std::size_t i = 0; i < shared_->links.size(); ++i) {
                all = all && shared_->links[i].ready.load(std::memory_order_acquire) != 0;
            }
            if (shared_->stopping()) {
                return false;
            }
            if (all) {
                break;
            }
            timespec time{0, 500'000};
            ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
        }
        start_ = Clock::now() + Clock::from_ns(20'000'000);
        note_start(raw_, start_);
        shared_->run[0].start.store(start_, std::memory_order_release);
        return true;
    }

    [[nodiscard]] bool releases(std::size_t core) const {
        for (std::size_t i = 0; i < config_->tasks.size(); ++i) {
            if (config_->releases(static_cast<std::uint16_t>(core), i)) {
                return true;
            }
        }
        return false;
    }
    // Its process ended otherwise than by finishing, and is not started again.
    [[nodiscard]] bool died(std::size_t core) const {
        const CoreLine& line = shared_->cores[core];
        return line.signal.load() != 0 || line.code.load() != 0;
    }

    [[nodiscard]] bool finished() const {
        for (std::size_t i = 0; i < config_->cores.size(); ++i) {
            if (releases(i) && shared_->cores[i].finished.load(std::memory_order_acquire) == 0 && !died(i)) {
                return false;
            }
        }
        return true;
    }
    [[nodiscard]] bool workers_alive() const {
        for (std::size_t i = 0; i < shared_->links.size(); ++i) {
            if (shared_->links[i].alive.load() != 0) {
                return true;
            }
        }
        for (std::uint32_t i = 0; i < config_->cores.size(); ++i) {
            if (config_->is_worker(i) && shared_->cores[i].alive.load() != 0) {
                return true;
            }
        }
        return false;
    }

    // Passes a command's request to the coordinator of modes.
    void pass_request_on() {
        const std::uint32_t asked = summary_ ? summary_->take_request() : 0;
        if (asked != 0 && asked <= config_->modes.size()) {
            shared_->run[0].asked.store(asked, std::memory_order_release);
            ring_doorbell(shared_->run[0].acknowledgements, shared_->run[0].acknowledgements_awaited);
        }
    }

    void summarise(std::uint32_t state) {
        if (summary_) {
            summary_->add_losses(*shared_, record_.lost());
            summary_->publish(state, start_);
        }
    }

    const RunConfig* config_;
    SharedRun* shared_;
    RunRecord record_;
    std::filesystem::path raw_;
    static constexpr long wakes_every_ns = 50'000'000;
    static constexpr std::uint64_t summary_interval_ns = 50'000'000;

    std::optional<SummaryPage> summary_;
    std::uint64_t summarised_ = 0;
    std::uint64_t longest_pause_ = 0;
    Ticks start_ = 0;
};

}  // namespace consort::linux_port
