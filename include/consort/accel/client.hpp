// SPDX-License-Identifier: Apache-2.0
//
// A client's side of an accelerator: one request at a time, a wait that ends, and an outcome that says how.
#pragma once

#include <cstdint>

#include "consort/accel/request.hpp"
#include "consort/port.hpp"

namespace consort::accel {

enum class Outcome : std::uint8_t {
    served,
    refused_operation,  // there is no such operation, or this client may not have it
    refused_size,
    // Until the deadline the server had not taken the client's former request, which it gave up.
    no_room,
    // The deadline passed before the answer. The request may still be served; its answer is thrown away.
    timeout,
    // The server's words hold what it never writes: the region has to be set up again.
    fault,
};

template <class In, class Out, Port P, class A = access::Coherent>
class Client {
  public:
    using Box = Mail<In, Out, A>;

    // It takes over from a client that died: what that one was still to be answered is thrown away.
    explicit Client(typename Box::Shared& box) noexcept
        : side_(box, Resume::discard), sequence_(side_.sequence()) {}

    // Asks for an operation on the first `size` bytes of `in`, and waits for the answer until `deadline`
    // [ticks], not longer but for one copy. `out` is written where the outcome is `served`.
    [[nodiscard]] Outcome request(std::uint32_t operation, const In& in, std::uint32_t size, Out& out,
                                  Ticks deadline) noexcept {
        drop_late_answer();
        const Request<In> request{++sequence_, operation, size, in};
        switch (side_.template write_until<P>(request, deadline)) {
            case Status::ok:
                break;
            case Status::timeout:
                return Outcome::no_room;
            default:
                return Outcome::fault;
        }
        for (;;) {
            const Status status = side_.template read_until<P>(response_, deadline);
            if (status != Status::ok) {
                return status == Status::timeout ? Outcome::timeout : Outcome::fault;
            }
            if (response_.sequence == sequence_) {
                return outcome(out);
            }
            ++late_answers_;
        }
    }

    // Answers that came too late and were thrown away.
    [[nodiscard]] std::uint32_t late_answers() const noexcept { return late_answers_; }

  private:
    void drop_late_answer() noexcept {
        if (side_.try_read(response_) == Status::ok) {
            ++late_answers_;
        }
    }

    [[nodiscard]] Outcome outcome(Out& out) const noexcept {
        switch (static_cast<Answer>(response_.answer)) {
            case Answer::served:
                out = response_.out;
                return Outcome::served;
            case Answer::unknown_operation:
            case Answer::not_allowed:
                return Outcome::refused_operation;
            case Answer::oversized:
                return Outcome::refused_size;
        }
        return Outcome::fault;
    }

    typename Box::Client side_;
    std::uint32_t sequence_;
    std::uint32_t late_answers_ = 0;
    Response<Out> response_{};
};

}  // namespace consort::accel
