// SPDX-License-Identifier: Apache-2.0
//
// The master's side of one task: sends the inputs, waits with a deadline, applies the policy when no answer
// came.
//
// The master owns time (Orciari et al., TII 2024, section IV): nothing that a worker does or fails to do
// delays it beyond the deadline it waits for. Every call is bounded by that deadline plus one copy, or plus
// the replay of a local fallback.
#pragma once

#include <cstdint>

#include "consort/icc/control.hpp"
#include "consort/offload/job.hpp"
#include "consort/port.hpp"

namespace consort::offload {

struct JobReport {
    std::uint32_t status = 0;
    std::uint32_t compute_ticks = 0;  // of the worker's clock, or of the master's for a local job
    Ticks sent = 0;                   // just before the request was written; 0 = it was not
    Ticks received = 0;               // the answer was read, or given up
    bool stop = false;                // OnMiss::stop applies
    bool worker_lost = false;         // this job is the first to find the worker lost
    bool worker_back = false;         // this job is the first to be sent to a worker that was lost
    bool worker_restarted = false;    // this job is the first to find that the worker was started anew
};

template <class T, Port P, class A = access::Coherent>
class Master {
  public:
    // Inputs kept to bring a checkpoint up to date: the worker publishes one after each answer, so at most
    // the last answered job and the one in flight are missing from it, and a few more after a lost request.
    static constexpr std::uint32_t history = 8;

    Master(const JobChannels<T, A>& channels, typename WorkerControl<A>::Master& control,
           OnMiss policy) noexcept
        : mail_(*channels.mail, Resume::discard),
          checkpoint_(*channels.checkpoint, 0),
          restore_(*channels.restore),
          control_(&control),
          policy_(policy),
          sequence_(mail_.sequence()),
          epoch_(control.epoch()) {
        // A master that was restarted goes on with numbers that no job has had.
        if (checkpoint_.read(local_) == Status::ok &&
            static_cast<std::int32_t>(local_.sequence - sequence_) > 0) {
            sequence_ = local_.sequence;
        }
        local_.sequence = sequence_;
    }

    // Begins a job: sends it unless the worker is lost. Returns at once. `reset`: the job starts from
    // State{}.
    void begin(const typename T::In& in, bool reset) noexcept {
        report_ = {};
        ++sequence_;
        inputs_[sequence_ % history] = {sequence_, reset, in};
        if (reset && policy_ != OnMiss::local_fallback) {
            // (The fallback needs no more than `inputs_`: every state is made from those.)
            reset_ = Reset::asked;
            reset_from_ = sequence_;
        }
        look_for_worker();
        waiting_ = false;
        if (lost_) {
            return;
        }
        take_late_answers();
        std::uint16_t flags = 0;
        if (reset || reset_ == Reset::asked) {
            flags = reset_state;
        } else if (stale_) {
            flags = restore_state;
            publish_restore();
        }
        const Request<typename T::In> request{sequence_, flags, static_cast<std::uint16_t>(epoch_), in};
        // Taken before the copy, which belongs to the communication; a preemption here cannot make it
        // negative.
        const Ticks sent = P::now();
        waiting_ = mail_.try_write(request) == Status::ok;
        report_.sent = waiting_ ? sent : 0;
        pulse_ = control_->pulse();
        if (waiting_) {
            stale_ = false;
        } else if (policy_ == OnMiss::local_fallback) {
            // An input that the worker's state will not have seen. (A held output has no state to go with:
            // there the worker simply goes on with the next input that reaches it.)
            stale_ = true;
        }
    }

    // In place of waiting, for a master that does something else meanwhile: whether the job's answer is
    // there, or none is awaited. If so, finish_answered() ends the job; finish() where the answer is given
    // up.
    [[nodiscard]] bool answered() noexcept {
        if (!waiting_) {
            return true;
        }
        if (mail_.try_read(response_) != Status::ok) {
            return false;
        }
        note_reset();
        if (response_.sequence != sequence_) {
            count_late();
            return false;
        }
        report_.received = P::now();
        return true;
    }
    // Ends the job that was begun; answered() was true.
    template <class Alive>
    [[nodiscard]] const JobReport& finish_answered(typename T::Out& out, Alive&& alive) noexcept {
        if (waiting_) {
            accept(out);
            return report_;
        }
        return finish(out, 0, alive);
    }

    // Ends the job that was begun: waits for its answer until `deadline` [ticks], then applies the policy.
    // `alive` is asked when no answer came; false = the platform knows that the worker is dead.
    template <class Alive>
    [[nodiscard]] const JobReport& finish(typename T::Out& out, Ticks deadline, Alive&& alive) noexcept {
        if (waiting_ && await(deadline)) {
            accept(out);
            return report_;
        }
        report_.received = P::now();
        judge(alive);
        const Remedy remedy = remedy_of(policy_);
        report_.status |= remedy.status;
        report_.stop = remedy.stops;
        if (remedy.computes) {
            compute_locally();
        }
        out = last_;
        return report_;
    }

    // The state after the last job, once the worker has nothing left to do: the task goes on elsewhere.
    void last_state(typename T::State& to) noexcept {
        take_late_answers();
        if (policy_ == OnMiss::local_fallback) {
            catch_up(sequence_ + 1);
        } else if (!local_valid_) {
            take_checkpoint();
        }
        to = local_.state;
    }
    // The next job goes on from there: the task was computed elsewhere.
    void resume(const typename T::State& state, const typename T::Out& out) noexcept {
        local_.state = state;
        local_.sequence = sequence_;
        local_valid_ = true;
        stale_ = true;
        reset_ = Reset::saved;
        last_ = out;
    }

    // From the next job on another remedy for a missing answer. As for last_state().
    void enter(OnMiss policy) noexcept {
        if (policy != policy_) {
            last_state(local_.state);
            policy_ = policy;
            resume(local_.state, last_);
        }
    }

    [[nodiscard]] bool worker_lost() const noexcept { return lost_; }
    // Answers that came too late and were thrown away.
    [[nodiscard]] std::uint32_t late_answers() const noexcept { return late_answers_; }

  private:
    struct Input {
        std::uint32_t sequence;
        bool reset;
        typename T::In in;
    };

    // The last reset, where no local copy of the state is kept: a request that carried it may be lost.
    enum class Reset : std::uint8_t {
        saved,     // a checkpoint holds it, or there was none
        asked,     // every request carries it
        answered,  // the worker has it; dying now, it would leave a checkpoint from before
    };

    void look_for_worker() noexcept {
        const std::uint32_t epoch = control_->epoch();
        const bool restarted = epoch != epoch_;
        if (restarted) {
            // 0: it had not started yet.
            report_.worker_restarted = epoch_ != 0 || epoch > 1;
            epoch_ = epoch;
            dead_ = false;
            // It has no state; whatever its predecessor was sent is void.
            stale_ = true;
            ask_again_for_reset();
        }
        if (lost_ && (restarted || (!dead_ && control_->pulse() != pulse_))) {
            lost_ = false;
            silent_ = 0;
            report_.worker_back = true;
            stale_ = stale_ || policy_ == OnMiss::local_fallback;
        }
    }

    void ask_again_for_reset() noexcept {
        if (reset_ == Reset::saved) {
            return;
        }
        take_checkpoint();
        const bool saved = static_cast<std::int32_t>(local_.sequence - reset_from_) >= 0;
        reset_ = saved ? Reset::saved : Reset::asked;
        // An answer of the predecessor that is still in the mailbox says nothing about this worker's state.
        reset_from_ = sequence_;
    }

    // An answer was read, in time or not: what it says about the last reset.
    void note_reset() noexcept {
        if (reset_ == Reset::saved || static_cast<std::int32_t>(response_.sequence - reset_from_) < 0) {
            return;
        }
        // A worker publishes the checkpoint of one job before it takes up the next.
        reset_ = reset_ == Reset::asked ? Reset::answered : Reset::saved;
    }

    void accept(typename T::Out& out) noexcept {
        last_ = response_.out;
        out = last_;
        report_.compute_ticks = response_.compute_ticks;
        local_valid_ = false;
        silent_ = 0;
    }

    [[nodiscard]] bool await(Ticks deadline) noexcept {
        for (;;) {
            const Status status = mail_.template read_until<P>(response_, deadline);
            if (status != Status::ok) {
                return false;
            }
            note_reset();
            if (response_.sequence == sequence_) {
                report_.received = P::now();
                return true;
            }
            count_late();
        }
    }

    void take_late_answers() noexcept {
        if (mail_.try_read(response_) == Status::ok) {
            note_reset();
            count_late();
        }
    }

    void count_late() noexcept {
        ++late_answers_;
        report_.status |= job_status::late_answer;
    }

    // A worker is lost when the platform says so, or when its pulse has stood still for two jobs in a row
    // although it was not computing, or for `history` jobs although it was.
    template <class Alive>
    void judge(Alive&& alive) noexcept {
        if (!alive()) {
            // Reported once, also if it had been silent before.
            report_.worker_lost = !dead_;
            dead_ = true;
            lost_ = true;
        } else if (!lost_) {
            const bool still = control_->pulse() == pulse_;
            silent_ = still ? silent_ + 1 : 0;
            if (silent_ >= (control_->busy() ? history : 2U)) {
                report_.worker_lost = true;
                lost_ = true;
            }
        }
        if (report_.worker_lost) {
            pulse_ = control_->pulse();
        }
        if (lost_) {
            report_.status |= job_status::lost;
        }
    }

    // A slow worker may publish a checkpoint that is older than the state known here: that one is not taken.
    void take_checkpoint() noexcept {
        Checkpoint<typename T::State> read{};
        if (checkpoint_.read(read) == Status::ok &&
            static_cast<std::int32_t>(read.sequence - local_.sequence) > 0) {
            local_ = read;
        }
    }

    // Brings the master's own copy of the state to just after the last job before `until`, if it is not there
    // yet.
    void catch_up(std::uint32_t until) noexcept {
        if (!local_valid_) {
            take_checkpoint();
            local_valid_ = true;
        }
        for (std::uint32_t back = history; back > 0; --back) {
            const std::uint32_t sequence = until - back;
            const bool after_local = static_cast<std::int32_t>(sequence - local_.sequence) > 0;
            if (after_local && inputs_[sequence % history].sequence == sequence) {
                run_locally(sequence);
            }
        }
    }

    void run_locally(std::uint32_t sequence) noexcept {
        const Input& input = inputs_[sequence % history];
        if (input.reset) {
            local_.state = typename T::State{};
        }
        T::step(FallbackInput<typename T::In>::of(input.in), local_.state, last_);
        local_.sequence = sequence;
    }

    void compute_locally() noexcept {
        catch_up(sequence_);
        if (local_.sequence == sequence_) {
            // The worker has just finished the job: its answer, written before the checkpoint, is in the
            // mailbox.
            if (mail_.try_read(response_) == Status::ok && response_.sequence == sequence_) {
                last_ = response_.out;
                report_.compute_ticks = response_.compute_ticks;
            }
        } else {
            const Ticks begin = timestamp<P>();
            run_locally(sequence_);
            report_.compute_ticks = static_cast<std::uint32_t>(timestamp<P>() - begin);
        }
        report_.received = P::now();
    }

    // The state that the next job starts from, for a worker that does not have it.
    void publish_restore() noexcept {
        if (policy_ == OnMiss::local_fallback) {
            catch_up(sequence_);
        } else if (!local_valid_) {
            take_checkpoint();
        }
        restore_.update(local_);
    }

    typename JobChannels<T, A>::Mail::Client mail_;
    typename JobChannels<T, A>::StateBox::Reader checkpoint_;
    typename JobChannels<T, A>::StateBox::Writer restore_;
    typename WorkerControl<A>::Master* control_;
    OnMiss policy_;
    std::uint32_t sequence_;
    std::uint32_t epoch_;
    std::uint32_t pulse_ = 0;
    std::uint32_t silent_ = 0;
    std::uint32_t late_answers_ = 0;
    // The first job whose request carried the last reset to this worker.
    std::uint32_t reset_from_ = 0;
    Reset reset_ = Reset::saved;
    bool waiting_ = false;
    bool lost_ = false;
    bool dead_ = false;
    // The worker's state does not hold all inputs up to the last job.
    bool stale_ = false;
    // `local_` is ahead of the worker's checkpoint.
    bool local_valid_ = false;
    JobReport report_{};
    Response<typename T::Out> response_{};
    typename T::Out last_{};
    Checkpoint<typename T::State> local_{};
    Input inputs_[history] = {};
};

}  // namespace consort::offload
