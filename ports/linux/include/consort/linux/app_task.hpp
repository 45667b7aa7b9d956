// SPDX-License-Identifier: Apache-2.0
//
// One task of a running application, on the master: its inputs, its releases, its outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "consort/icc/layout.hpp"
#include "consort/icc/region.hpp"
#include "consort/linux/app_config.hpp"
#include "consort/linux/locked_buffer.hpp"
#include "consort/linux/port.hpp"
#include "consort/linux/recorder.hpp"
#include "consort/offload.hpp"

namespace consort::linux_port {

using offload::JobRecord;

// Status bits beyond those of consort::offload::job_status.
inline constexpr std::uint32_t status_late_release =
    1U << 6U;  // the master came to it more than a tenth of a period late
inline constexpr std::uint32_t status_skipped_release = 1U
                                                        << 7U;  // its whole period had passed: not executed

// numpy's code of a scalar leaf: u4, i2, f4 …
inline std::string numpy_code(const Leaf& leaf) {
    const char letter = leaf.kind == Kind::floating ? 'f' : (leaf.is_signed != 0 ? 'i' : 'u');
    return letter + std::to_string(leaf.size);
}

// A leaf's path as a column's name: "axes[2].limit" is axes_2_limit.
inline std::string column_name(std::string_view path) {
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

// The members of T as a reader in another language needs them.
template <class T>
nlohmann::json layout_json() {
    nlohmann::json members = nlohmann::json::array();
    for (std::size_t i = 0; i < Layout<T>::count; ++i) {
        const Leaf& leaf = Layout<T>::leaves[i];
        members.push_back({{"name", std::string(Layout<T>::name(i).view())},
                           {"type", numpy_code(leaf)},
                           {"offset", leaf.offset},
                           {"count", leaf.count}});
    }
    return {{"bytes", sizeof(T)}, {"members", members}};
}

template <class T>
offload::JobChannels<T> add_channels(RegionMaker<>& maker, const std::string& name) {
    using C = offload::JobChannels<T>;
    const auto add = [&]<class Channel>(const char* suffix, Channel*) {
        auto added = maker.template add<Channel>(name + suffix);
        if (!added) {
            throw std::invalid_argument(name + suffix + ": " + to_string(added.refusal().reason));
        }
    };
    add(".in", static_cast<typename C::RequestBox*>(nullptr));
    add(".out", static_cast<typename C::ResponseBox*>(nullptr));
    add(".checkpoint", static_cast<typename C::StateBox*>(nullptr));
    add(".restore", static_cast<typename C::StateBox*>(nullptr));
    return {};
}

template <class Channel>
typename Channel::Shared* open_or_throw(const Region<>& region, const std::string& name) {
    auto opened = region.template open<Channel>(name);
    if (!opened) {
        const Refusal& why = opened.refusal();
        std::string text = name + ": " + to_string(why.reason);
        if (why.reason == Reason::wrong_layout) {
            text += " (member '" + std::string(why.member.view()) + "': " + why.aspect + " " +
                    std::to_string(why.expected) + " here, " + std::to_string(why.found) + " in the region)";
        }
        throw std::invalid_argument(text);
    }
    return opened.value();
}

template <class T>
offload::JobChannels<T> open_channels(const Region<>& region, const std::string& name) {
    using C = offload::JobChannels<T>;
    return {open_or_throw<typename C::RequestBox>(region, name + ".in"),
            open_or_throw<typename C::ResponseBox>(region, name + ".out"),
            open_or_throw<typename C::StateBox>(region, name + ".checkpoint"),
            open_or_throw<typename C::StateBox>(region, name + ".restore")};
}

// The master's side of task T. Everything is allocated and touched before the first release.
template <class T>
class AppTask {
  public:
    using In = typename T::In;
    using State = typename T::State;
    using Out = typename T::Out;
    using Control = WorkerControl<>::Master;

    AppTask(const TaskConfig& config, std::uint16_t kind, std::uint64_t iterations, const Region<>& region,
            std::vector<std::unique_ptr<Control>>& controls)
        : config_(config),
          kind_(kind),
          iterations_(iterations),
          period_(Clock::from_ns(config.period_ns)),
          deadline_(Clock::from_ns(config.deadline_ns)),
          give_up_(Clock::from_ns(config.deadline_ns - config.fallback_margin_ns)),
          inputs_(read_inputs(config.input_file)),
          rows_(inputs_->size() / sizeof(In)),
          outputs_(std::string("outputs-") + T::name, iterations) {
        for (std::size_t i = 0; i < Layout<Out>::count; ++i) {
            const Leaf& leaf = Layout<Out>::leaves[i];
            for (std::uint32_t n = 0; n < leaf.count; ++n) {
                std::string name = column_name(Layout<Out>::name(i).view());
                name += leaf.count > 1 ? "_" + std::to_string(n) : "";
                outputs_fields_.push_back({name, numpy_code(leaf), leaf.offset + n * leaf.size, "", ""});
            }
        }
        if (config.offloaded) {
            control_ = controls.at(config.worker).get();
            master_.emplace(open_channels<T>(region, T::name), *control_, config.on_miss);
        }
    }

    [[nodiscard]] bool done() const noexcept { return executed_and_skipped_ == iterations_; }
    [[nodiscard]] std::uint64_t next_release() const noexcept { return release_; }
    [[nodiscard]] std::uint32_t worker() const noexcept { return config_.worker; }
    void first_release(std::uint64_t tick) noexcept { release_ = tick; }

    // The due job's first half: sends it off, or, if it is local, nothing.
    void begin(std::uint64_t woke) noexcept {
        record_ = JobRecord{};
        record_.release = release_;
        record_.start = woke;
        record_.seq = static_cast<std::uint32_t>(executed_and_skipped_);
        record_.kind = kind_;
        record_.step = static_cast<std::uint32_t>(executed_ % rows_);
        record_.status = woke - release_ > period_ / 10 ? status_late_release : 0U;
        std::memcpy(&in_, inputs_->data() + record_.step * sizeof(In), sizeof(In));
        reset_ = record_.step == 0 && executed_ != 0;
        if (master_) {
            record_.worker = static_cast<std::uint16_t>(config_.worker + 1);
            master_->begin(in_, reset_);
        }
    }

    // The second half: computes or waits for the answer, applies the output. `alive(worker)`. True if the run
    // must end.
    template <class Alive, class Event>
    bool finish(Table<JobRecord>& jobs, Alive&& alive, Event&& event) noexcept {
        bool stop = false;
        if (master_) {
            const auto& report =
                master_->finish(out_, release_ + give_up_, [&] { return alive(config_.worker); });
            record_.sent = report.sent;
            record_.received = report.received;
            record_.compute = report.compute_ticks;
            record_.status |= report.status;
            if (report.worker_lost) {
                // Silent: the platform calls it alive, but it moves no more (preempted, or stuck in a job).
                event(report.received, alive(config_.worker) ? "worker-silent" : "worker-lost",
                      config_.worker);
            }
            if (report.worker_restarted) {
                // Also within one period, when no answer was missing: its state was handed to it anew.
                event(record_.start, "worker-restarted", config_.worker);
            }
            if (report.worker_back) {
                event(report.sent, "worker-back", config_.worker);
            }
            stop = report.stop;
        } else {
            if (reset_) {
                state_ = State{};
            }
            const std::uint64_t from = LinuxPort::timestamp();
            T::step(in_, state_, out_);
            record_.compute = LinuxPort::timestamp() - from;
        }
        applied_ = out_;
        // The compiler may not move the output's store behind the time stamp: the actuator would see it
        // there.
        asm volatile("" ::"r"(&applied_) : "memory");
        record_.finish = Clock::now();
        const bool held = (record_.status & offload::job_status::held) != 0;
        if (held || record_.finish > release_ + deadline_) {
            record_.status |= offload::job_status::missed;
        }
        jobs.push(record_);
        outputs_.push(out_);
        ++executed_;
        ++executed_and_skipped_;
        release_ += period_;
        return stop;
    }

    // Releases whose whole period has passed are not executed late: they are recorded as missed.
    void skip_passed_releases(std::uint64_t now, Table<JobRecord>& jobs) noexcept {
        while (!done() && release_ + period_ <= now) {
            JobRecord skipped{};
            skipped.release = release_;
            skipped.seq = static_cast<std::uint32_t>(executed_and_skipped_);
            skipped.kind = kind_;
            skipped.worker = static_cast<std::uint16_t>(master_ ? config_.worker + 1 : 0);
            skipped.status = offload::job_status::missed | status_skipped_release;
            jobs.push(skipped);
            outputs_.push(out_);
            ++executed_and_skipped_;
            release_ += period_;
        }
    }

    void write(RawWriter& writer) {
        for (const Field& field : outputs_fields_) {
            outputs_.describe(field);
        }
        writer.table(outputs_);
    }

    [[nodiscard]] std::uint32_t late_answers() const noexcept {
        return master_ ? master_->late_answers() : 0;
    }

  private:
    static std::unique_ptr<LockedBuffer> read_inputs(const std::string& path) {
        std::ifstream file(path, std::ios::binary | std::ios::ate);
        if (!file) {
            throw std::invalid_argument(path + ": cannot be read");
        }
        const auto bytes = static_cast<std::size_t>(file.tellg());
        if (bytes == 0 || bytes % sizeof(In) != 0) {
            throw std::invalid_argument(path + ": " + std::to_string(bytes) +
                                        " bytes are not a whole number of inputs of " +
                                        std::to_string(sizeof(In)) + " bytes");
        }
        auto buffer = std::make_unique<LockedBuffer>(bytes);
        file.seekg(0);
        file.read(reinterpret_cast<char*>(buffer->data()), static_cast<std::streamsize>(bytes));
        return buffer;
    }

    TaskConfig config_;
    std::uint16_t kind_;
    std::uint64_t iterations_;
    std::uint64_t period_;
    std::uint64_t deadline_;
    std::uint64_t give_up_;
    std::unique_ptr<LockedBuffer> inputs_;
    std::uint64_t rows_;
    Table<Out> outputs_;
    std::vector<Field> outputs_fields_;
    Control* control_ = nullptr;
    std::optional<offload::Master<T, LinuxPort>> master_;

    std::uint64_t release_ = 0;
    std::uint64_t executed_ = 0;
    std::uint64_t executed_and_skipped_ = 0;
    bool reset_ = false;
    In in_{};
    State state_{};
    Out out_{};
    Out applied_{};
    JobRecord record_{};
};

}  // namespace consort::linux_port
