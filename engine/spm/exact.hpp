// SPDX-License-Identifier: Apache-2.0
//
// Exact worst-case response times of small sets by visiting every reachable state of the protocol.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "spm/task.hpp"

namespace consort::engine::spm {

struct Exact {
    std::vector<Time>
        response;  // supremum over all sporadic patterns on the grid; 0 if a task's job never ended
    std::size_t states = 0;
    bool complete = false;  // false: `max_states` was reached, the responses are lower bounds
    int late_task =
        -1;  // a task whose job was in the system for longer than its period: the search ended there
};

// Sporadic releases just after own slots begin (the worst instants), periods multiples of the round, at most
// five tasks of at most 126 rounds. With `vary` each job executes for its longest time or for one tick.
// std::invalid_argument if the set is not of that form.
[[nodiscard]] Exact exact(std::span<const Task> tasks, Tdma tdma, bool vary, std::size_t max_states);

}  // namespace consort::engine::spm
