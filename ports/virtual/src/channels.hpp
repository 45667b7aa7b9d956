// SPDX-License-Identifier: Apache-2.0
//
// Which block of each channel a job reads and writes. What is written at an instant can be read at it, so
// reads are answered when the clock leaves the instant.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "consort/virtual/system.hpp"

namespace consort::virtual_time {

class Channels {
  public:
    void start(const System& system, Trace* trace, Observer* observer) {
        system_ = &system;
        trace_ = trace;
        observer_ = observer;
        published_.assign(system.channels.size(), {});
        reads_.assign(system.tasks.size(), {});
        writes_.assign(system.tasks.size(), {});
        begun_.clear();
        ended_.clear();
        finished_.clear();
        for (std::uint32_t c = 0; c < system.channels.size(); ++c) {
            if (system.channels[c].writer == app::plan::none) {
                continue;
            }
            writes_[system.channels[c].writer].push_back(c);
            for (const std::uint32_t r : system.channels[c].readers) {
                reads_[r].push_back(c);
            }
        }
        follows_ = observer != nullptr || (trace != nullptr && !system.channels.empty());
    }

    // The job reads its input now. early: by how much its block came before it was due.
    void begun(std::uint32_t task, const JobTimes& job, Time early, Time now) {
        if (follows_ && (observer_ != nullptr || !reads_[task].empty())) {
            begun_.push_back({task, job, early, now});
        }
    }
    // It is over, with an output or without.
    void finished(std::uint32_t task, const JobTimes& job, const Transfers& moved, Time now) {
        if (observer_ != nullptr) {
            finished_.push_back({task, job, moved, now});
        }
    }
    // Its output is ready now.
    void ended(std::uint32_t task, std::uint32_t seq, Time deadline, Time now) {
        if (!follows_) {
            return;
        }
        for (const std::uint32_t c : writes_[task]) {
            const bool let = system_->channels[c].let;
            const Time visible = let ? std::max(deadline, now) : now;
            published_[c].push_back(visible);
            record(visible, published_[c].size(), seq, task, c,
                   let && now > deadline ? Operation::write_late : Operation::write);
            if (observer_ != nullptr) {
                ended_.push_back({task, seq, c, published_[c].size()});
            }
        }
    }
    // Everything at this instant has happened.
    void close() {
        for (const Written& w : ended_) {
            observer_->write(w.task, w.seq, w.channel, w.sequence);
        }
        ended_.clear();
        for (const Finished& f : finished_) {
            observer_->finished(f.task, f.job, f.moved, f.now);
        }
        finished_.clear();
        for (const Begun& b : begun_) {
            if (observer_ != nullptr) {
                observer_->begun(b.task, b.job, b.now);
                if (b.early != 0) {
                    observer_->early(b.task, b.job, b.early);
                }
            }
            for (const std::uint32_t c : reads_[b.task]) {
                const Time as_of = system_->channels[c].let ? b.job.release : b.now;
                const std::vector<Time>& published = published_[c];
                auto newest = published.size();
                while (newest != 0 && published[newest - 1] > as_of) {
                    --newest;
                }
                record(as_of, newest, b.job.seq, b.task, c, Operation::read);
                if (observer_ != nullptr) {
                    observer_->read(b.task, b.job.seq, c, newest);
                }
            }
            if (observer_ != nullptr) {
                observer_->compute(b.task, b.job.seq);
            }
        }
        begun_.clear();
    }
    [[nodiscard]] bool open() const noexcept {
        return !begun_.empty() || !ended_.empty() || !finished_.empty();
    }

  private:
    struct Begun {
        std::uint32_t task;
        JobTimes job;
        Time early;
        Time now;
    };
    struct Finished {
        std::uint32_t task;
        JobTimes job;
        Transfers moved;
        Time now;
    };
    struct Written {
        std::uint32_t task;
        std::uint32_t seq;
        std::uint32_t channel;
        std::uint64_t sequence;
    };

    void record(Time at, std::uint64_t sequence, std::uint32_t seq, std::uint32_t task, std::uint32_t channel,
                Operation::Kind kind) {
        if (trace_ != nullptr) {
            trace_->operations.push_back({static_cast<Ticks>(at + origin), sequence, seq,
                                          static_cast<std::uint16_t>(task),
                                          static_cast<std::uint16_t>(channel), kind, 1, 0});
        }
    }

    const System* system_ = nullptr;
    Trace* trace_ = nullptr;
    Observer* observer_ = nullptr;
    bool follows_ = false;
    std::vector<std::vector<Time>> published_;       // by channel: when each block became visible
    std::vector<std::vector<std::uint32_t>> reads_;  // by task: channels
    std::vector<std::vector<std::uint32_t>> writes_;
    std::vector<Begun> begun_;  // at this instant
    std::vector<Written> ended_;
    std::vector<Finished> finished_;
};

}  // namespace consort::virtual_time
