// SPDX-License-Identifier: Apache-2.0
//
// Threads of the probe: each pinned and scheduled as the executive's are, started together.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "consort/linux/realtime.hpp"
#include "probe_series.hpp"

namespace consort::linux_port {

struct ProbeThread {
    int cpu = 0;
    int priority = 0;  // of SCHED_FIFO; 0: the ordinary class
    std::function<void()> body;
};

// Runs the threads, all of them placed and scheduled before the first body begins, and waits for their ends.
// Returns why one was not placed as asked; then no body ran.
inline std::string run_threads(const std::vector<ProbeThread>& wanted) {
    std::atomic<std::size_t> placed{0};
    std::atomic<bool> refused{false};
    std::vector<std::string> refusals(wanted.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        threads.emplace_back([&, i] {
            const ProbeThread& self = wanted[i];
            RealtimeOptions options;
            options.cpu = self.cpu;
            options.policy = self.priority > 0 ? SCHED_FIFO : SCHED_OTHER;
            options.priority = self.priority;
            // Settings of the process, not of the thread: the main thread's.
            options.lock_memory = false;
            options.cpu_dma_latency = false;
            const RealtimeGuard guard(options);
            const Realtime& got = guard.achieved();
            if (got.cpu != self.cpu || (self.priority > 0 && got.policy != "SCHED_FIFO")) {
                refusals[i] = got.notes.empty() ? "refused" : got.notes.front();
                refused.store(true);
            }
            placed.fetch_add(1);
            // Sleeping, so that threads of one processor can all arrive.
            while (placed.load() < wanted.size()) {
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            }
            if (!refused.load()) {
                self.body();
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const std::string& refusal : refusals) {
        if (!refusal.empty()) {
            return refusal;
        }
    }
    return {};
}

}  // namespace consort::linux_port
