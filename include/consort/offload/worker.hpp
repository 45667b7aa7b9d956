// SPDX-License-Identifier: Apache-2.0
//
// The worker: waits for jobs, computes, answers; nothing else on its core (Orciari et al., TII 2024, section
// IV).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <tuple>
#include <utility>

#include "consort/icc/control.hpp"
#include "consort/offload/job.hpp"
#include "consort/port.hpp"

namespace consort::offload {

// A worker's report to an observer on each job, after it has answered [ticks of its port].
struct ServedJob {
    std::uint32_t kind;  // the task's position in the worker's list
    std::uint32_t sequence;
    Ticks received;  // the request was seen
    Ticks computed_from;
    Ticks computed_to;
    Ticks answered;  // the response was written
};

// One task on this worker.
template <class T, Port P, class A = access::Coherent>
class Server {
  public:
    explicit Server(const JobChannels<T, A>& channels) noexcept
        // A request that was in the mailbox when a former worker died is void: the master has given the job
        // up.
        : mail_(*channels.mail, Resume::discard),
          checkpoint_(*channels.checkpoint),
          restore_(*channels.restore, 0) {}

    // Serves one job if there is one. `observe(const ServedJob&)`, `on_start(kind)` must be short.
    template <class Control, class Observe>
    [[nodiscard]] Status poll(std::uint32_t kind, Control& control, Observe&& observe) noexcept {
        Request<typename T::In> request;
        const Status status = mail_.try_read(request);
        if (status != Status::ok) {
            return status;
        }
        // At once: the step may take longer than the master waits, and its next request needs room.
        mail_.acknowledge();
        if (request.worker_epoch != static_cast<std::uint16_t>(control.epoch())) {
            return Status::would_block;
        }
        ServedJob job{kind, request.sequence, P::now(), 0, 0, 0};
        control.busy(kind + 1);
        if ((request.flags & reset_state) != 0) {
            saved_.state = typename T::State{};
        }
        if ((request.flags & restore_state) != 0) {
            // would_block: nothing newer than what a former restore read, which then is already here.
            if (restore_.read(saved_) == Status::peer_fault) {
                return Status::peer_fault;
            }
        }
        Response<typename T::Out> response{};
        response.sequence = request.sequence;
        job.computed_from = timestamp<P>();
        T::step(request.in, saved_.state, response.out);
        job.computed_to = timestamp<P>();
        response.compute_ticks = static_cast<std::uint32_t>(job.computed_to - job.computed_from);
        Status sent = mail_.try_write(response);
        // The master takes a late answer out before it sends the next request, so this ends unless it has
        // died.
        while (sent == Status::would_block && control.command() != Command::stop) {
            P::relax();
            sent = mail_.try_write(response);
        }
        job.answered = P::now();
        saved_.sequence = request.sequence;
        checkpoint_.update(saved_);
        control.busy(0);
        observe(job);
        return sent;
    }

  private:
    typename JobChannels<T, A>::Mail::Server mail_;
    typename JobChannels<T, A>::StateBox::Writer checkpoint_;
    typename JobChannels<T, A>::StateBox::Reader restore_;
    Checkpoint<typename T::State> saved_{};
};

// Several tasks on one core, looked at in the order given: the first is the most urgent. Channels whose
// `mail` is null belong to a task that another worker serves, so one list of tasks fits all workers of an
// application.
template <Port P, class A, class... T>
class Worker {
  public:
    Worker(typename WorkerControl<A>::Shared& control, const JobChannels<T, A>&... channels) noexcept
        : servers_(channels...), control_(control) {}

    // Serves until the master orders a stop: ok, or peer_fault when the region is damaged. `observe(const
    // ServedJob&)` runs after each answer.
    template <class Observe>
    [[nodiscard]] Status serve(Observe&& observe) noexcept {
        while (control_.command() != Command::stop) {
            const Status status = poll_all(observe, std::index_sequence_for<T...>{});
            if (status == Status::peer_fault) {
                return status;
            }
            if (status == Status::would_block) {
                control_.beat();
                P::relax();
            }
        }
        return Status::ok;
    }

  private:
    template <class U>
    struct Place {
        explicit Place(const JobChannels<U, A>& channels) noexcept {
            if (channels.mail != nullptr) {
                server = ::new (static_cast<void*>(storage)) Server<U, P, A>(channels);
            }
        }
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;
        // A Server owns nothing, so leaving it is enough.
        ~Place() = default;

        alignas(Server<U, P, A>) unsigned char storage[sizeof(Server<U, P, A>)];
        Server<U, P, A>* server = nullptr;
    };

    template <std::size_t I, class Observe>
    [[nodiscard]] Status poll_one(Observe&& observe) noexcept {
        auto* server = std::get<I>(servers_).server;
        return server == nullptr ? Status::would_block : server->poll(I, control_, observe);
    }

    // Ends at the first job served, so that the most urgent task is looked at first again.
    template <class Observe, std::size_t... I>
    [[nodiscard]] Status poll_all(Observe&& observe, std::index_sequence<I...>) noexcept {
        Status status = Status::would_block;
        static_cast<void>((((status = poll_one<I>(observe)) != Status::would_block) || ...));
        return status;
    }

    std::tuple<Place<T>...> servers_;
    // Constructed last: its epoch says that everything above is attached.
    typename WorkerControl<A>::Worker control_;
};

}  // namespace consort::offload
