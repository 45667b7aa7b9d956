// SPDX-License-Identifier: Apache-2.0
#include "spm/sized_operations.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "spm/bound.hpp"

namespace consort::engine::spm {

SizedOperations::SizedOperations(std::span<const Task> tasks, Time slot) : slot_(slot) {
    for (const Task& task : tasks) {
        execution_.push_back(task.execution);
        load_.push_back(task.load != 0 ? task.load : slot);
        unload_.push_back(task.unload != 0 ? task.unload : slot);
    }
    below_load_.resize(tasks.size());
    below_unload_.resize(tasks.size());
    for (std::size_t i = tasks.size(); i-- > 0;) {
        below_load_[i] = longest_load_;
        below_unload_[i] = longest_unload_;
        longest_load_ = std::max(longest_load_, load_[i]);
        longest_unload_ = std::max(longest_unload_, unload_[i]);
    }
    by_execution_ = falling(execution_);
    by_load_ = falling(load_);
    by_unload_ = falling(unload_);
}

Time SizedOperations::load(int k, int i) const {
    if (k == Worst::none) {
        return slot_;
    }
    return k > i ? below_load_[static_cast<std::size_t>(i)] : load_[static_cast<std::size_t>(k)];
}

Time SizedOperations::unload(int k, int i) const {
    if (k == Worst::none) {
        return slot_;
    }
    return k > i ? below_unload_[static_cast<std::size_t>(i)] : unload_[static_cast<std::size_t>(k)];
}

bool SizedOperations::longer_than_below(int k, int i) const {
    const auto task = static_cast<std::size_t>(k);
    const auto below = static_cast<std::size_t>(i);
    return load_[task] > below_load_[below] || unload_[task] > below_unload_[below];
}

Time SizedOperations::interference(int i, int u, int x, std::span<const Time> counts, Time others) {
    const auto own = static_cast<std::size_t>(i);
    Time n = std::accumulate(counts.begin(), counts.begin() + i, Time{1});
    const Time execution = x == Worst::none ? 0 : execution_[static_cast<std::size_t>(x)];
    fill(executions_, execution_, by_execution_, i, counts, {execution, 1}, {0, 0});
    fill(loads_, load_, by_load_, i, counts, {load_[own], 1}, {0, 0});
    fill(unloads_, unload_, by_unload_, i, counts, {unload(u, i), 1}, {unload(x, i), 1});
    Time sum = 0;
    auto c = executions_.begin();
    auto l = loads_.begin();
    auto d = unloads_.begin();
    while (n > 0) {
        const bool moves = l != loads_.end() && d != unloads_.end();
        const Time dma = moves ? 2 * others + l->length + d->length : -1;
        if (c != executions_.end() && c->length >= dma) {
            const Time take = std::min(n, c->count);
            sum += take * c->length;
            n -= take;
            ++c;
            continue;
        }
        const Time take = std::min({n, l->count, d->count});
        sum += take * dma;
        n -= take;
        l->count -= take;
        d->count -= take;
        l += l->count == 0 ? 1 : 0;
        d += d->count == 0 ? 1 : 0;
    }
    return sum;
}

SizedOperations::Order SizedOperations::falling(const Lengths& lengths) {
    Order order(lengths.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
    return order;
}

void SizedOperations::fill(std::vector<Run>& runs, const Lengths& lengths, const Order& order, int i,
                           std::span<const Time> counts, Run a, Run b) {
    std::array<Run, 2> more{a, b};
    if (more[0].length < more[1].length) {
        std::swap(more[0], more[1]);
    }
    runs.clear();
    const auto push = [&runs](Run run) {
        if (run.count > 0) {
            runs.push_back(run);
        }
    };
    std::size_t at = 0;
    for (const std::size_t k : order) {
        if (k >= static_cast<std::size_t>(i)) {
            continue;
        }
        for (; at < more.size() && more[at].length >= lengths[k]; ++at) {
            push(more[at]);
        }
        push({lengths[k], counts[k]});
    }
    for (; at < more.size(); ++at) {
        push(more[at]);
    }
}

}  // namespace consort::engine::spm
