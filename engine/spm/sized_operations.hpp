// SPDX-License-Identifier: Apache-2.0
//
// Loads and unloads that take as long as they take: the DMA work of a busy period under round robin.
#pragma once

#include <span>
#include <vector>

#include "spm/task.hpp"

namespace consort::engine::spm {

class SizedOperations {
  public:
    SizedOperations(std::span<const Task> tasks, Time slot);

    [[nodiscard]] Time slot() const { return slot_; }
    [[nodiscard]] Time longest_load() const { return longest_load_; }
    [[nodiscard]] Time longest_unload() const { return longest_unload_; }

    // Operations of task k in flight before a job of task i. Whichever task below i it is, it may be the one
    // that takes longest to move; where nothing is in flight, an earlier job's operation may still be under
    // way.
    [[nodiscard]] Time load(int k, int i) const;
    [[nodiscard]] Time unload(int k, int i) const;
    // True if task k takes longer to load or to unload than every task below i.
    [[nodiscard]] bool longer_than_below(int k, int i) const;

    // H: the sum of the n largest among n executions and n times 2 * others + an unload + a load. The DMA
    // work of an interval is the unload of the job before and the load of the job after its own; the sums of
    // the longest unloads with the longest loads majorise every other pairing. `counts`: jobs of each task
    // above i.
    [[nodiscard]] Time interference(int i, int u, int x, std::span<const Time> counts, Time others);

  private:
    struct Run {
        Time length;
        Time count;
    };
    using Lengths = std::vector<Time>;
    using Order = std::vector<std::size_t>;  // tasks by falling length

    static Order falling(const Lengths& lengths);
    // Runs of equal lengths in falling order: those of the tasks above i with their counts, and two more.
    static void fill(std::vector<Run>& runs, const Lengths& lengths, const Order& order, int i,
                     std::span<const Time> counts, Run a, Run b);

    Time slot_;
    Lengths execution_, load_, unload_;
    Order by_execution_, by_load_, by_unload_;
    Lengths below_load_, below_unload_;  // the longest of the tasks below each
    Time longest_load_ = 0;
    Time longest_unload_ = 0;
    std::vector<Run> executions_, loads_, unloads_;
};

}  // namespace consort::engine::spm
