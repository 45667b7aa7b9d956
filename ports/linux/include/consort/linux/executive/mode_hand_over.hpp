// SPDX-License-Identifier: Apache-2.0
//
// A task that different cores release in different modes, on its way between their processes: all that its
// next job goes on from, handed over as consort/migrate/hand_over.hpp says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "consort/linux/executive/catalogue.hpp"
#include "consort/linux/executive/config.hpp"
#include "consort/linux/executive/prepared_task.hpp"
#include "consort/linux/shared_memory.hpp"
#include "consort/migrate/hand_over.hpp"

namespace consort::linux_port {

// The words that outlive both sides, of each task that moves. Made before the processes are.
class HandOverMemory {
  public:
    HandOverMemory(const RunConfig& config, const Catalogue& catalogue) {
        for (std::size_t i = 0; i < config.tasks.size(); ++i) {
            Sides task;
            task.cores = sides_of(config, i);
            if (task.cores.size() > 1) {
                task.words = words_of(catalogue, catalogue.tasks[i]);
                task.memory = std::make_unique<SharedMemory>(SharedMemory::anonymous(
                    "consort-hand-over", migrate::shared_words(task.words) * sizeof(std::uint32_t)));
            }
            tasks_.push_back(std::move(task));
        }
    }
    // The core that has the task in the first mode that has it, and the other one; one where it never moves.
    [[nodiscard]] const std::vector<std::uint16_t>& sides(std::size_t task) const {
        return tasks_[task].cores;
    }
    [[nodiscard]] std::uint32_t words(std::size_t task) const { return tasks_[task].words; }
    [[nodiscard]] migrate::WordsAt memory(std::size_t task) const {
        return migrate::WordsAt(static_cast<std::uint32_t*>(tasks_[task].memory->base()));
    }

  private:
    // Of a task: the cores that release it, and what they hand over through.
    struct Sides {
        std::vector<std::uint16_t> cores;
        std::uint32_t words = 0;
        std::unique_ptr<SharedMemory> memory;
    };

    static std::vector<std::uint16_t> sides_of(const RunConfig& config, std::size_t task) {
        std::vector<std::uint16_t> found;
        const auto elsewhere = [&found](const plan::Task& one) {
            return std::find(found.begin(), found.end(), one.core) == found.end();
        };
        while (const auto mode = config.first_mode(task, elsewhere)) {
            const plan::Task& one = config.image.task(*mode, static_cast<std::uint32_t>(task));
            found.push_back(static_cast<std::uint16_t>(one.core));
        }
        if (found.size() > 2) {
            throw std::invalid_argument("task " + config.tasks[task].name + ": it moves between " +
                                        std::to_string(found.size()) + " cores; two can hand it over");
        }
        return found;
    }
    static std::uint32_t words_of(const Catalogue& catalogue, const StepEntry& task) {
        std::size_t bytes = task.state.bytes + task.in.bytes + task.out.bytes + 2 * sizeof(std::uint64_t) +
                            sizeof(PendingJob);
        for (const Binding& binding : catalogue.bindings) {
            bytes += binding.task == task.name ? binding.end_bytes : 0;
        }
        return static_cast<std::uint32_t>((bytes + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t));
    }

    std::vector<Sides> tasks_;
};

// One side of it, in the process of one core. Every call is short.
class HandOverSide final : public Checkpoint {
  public:
    HandOverSide(const HandOverMemory& all, std::size_t index, std::uint16_t core, PreparedTask& task)
        : moves_(all.sides(index).size() > 1),
          side_(moves_ && all.sides(index)[1] == core ? 1 : 0),
          task_(&task),
          copy_(moves_ ? all.words(index) : 1),
          shared_(moves_ ? all.memory(index) : migrate::WordsAt(nullptr)),
          hand_over_(side_, {copy_.data(), static_cast<std::uint32_t>(copy_.size())}) {
        // Job 0 is the one before the first: what the shared words hold is not a state yet.
        while (moves_ && side_ == 0 && !hand_over_.poll(shared_)) {
        }
        task.commit_to(*this);
    }
    HandOverSide(const HandOverSide&) = delete;
    HandOverSide& operator=(const HandOverSide&) = delete;

    [[nodiscard]] bool mine() const noexcept { return !moves_ || hand_over_.owns(); }
    // The task is the other side's from now on.
    void give() noexcept {
        task_->take_back();
        task_->note_pending(false);
        save();
        copied_ = Clock::now();
        hand_over_.give(shared_);
    }
    // When the state that was given away last had been copied.
    [[nodiscard]] Ticks copied() const noexcept { return copied_; }
    // The job under way is computed: from now on it is the last one, whoever goes on.
    void commit() noexcept override {
        task_->note_pending(true);
        save();
    }
    // The process of the other side is dead, and owned the task if this side does not: that ends here.
    void take_from_the_dead() noexcept {
        while (!hand_over_.take_over(shared_)) {
        }
        while (!hand_over_.poll(shared_)) {
        }
        // Without a checkpoint, job 0 is the last one: the state is as it is here.
        if (hand_over_.number() != 0) {
            load();
        }
        task_->go_on_after_death();
    }
    // True: the task is this side's, and what it goes on from is here.
    bool take() noexcept {
        for (std::size_t i = 0; i < copy_.size() + 4; ++i) {
            if (!hand_over_.poll(shared_)) {
                continue;
            }
            load();
            task_->took_over();
            return true;
        }
        return false;
    }

  private:
    void save() noexcept {
        auto* to = reinterpret_cast<std::byte*>(copy_.data());
        task_->each_kept([&](std::span<std::byte> part) {
            std::memcpy(to, part.data(), part.size());
            to += part.size();
        });
        while (!hand_over_.save(shared_)) {
            task_->dies().step();
        }
    }
    void load() noexcept {
        const auto* from = reinterpret_cast<const std::byte*>(copy_.data());
        task_->each_kept([&](std::span<std::byte> part) {
            std::memcpy(part.data(), from, part.size());
            from += part.size();
        });
    }

    bool moves_;
    std::uint32_t side_;
    PreparedTask* task_;
    std::vector<std::uint32_t> copy_;
    migrate::WordsAt shared_;
    migrate::HandOverOf<migrate::StateAt> hand_over_;
    Ticks copied_ = 0;
};

}  // namespace consort::linux_port
