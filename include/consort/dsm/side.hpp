// SPDX-License-Identifier: Apache-2.0
//
// Side: what both sides of a shared region have in common: asking, granting, waiting, and what happens when
// the other side dies.
//
// `Derived` has two functions, which end at once and may be called again:
//   bool hand_over()        brings what the other side has to read to where it can read it; true when done
//   bool take(Message)      as long as a grant is taken in; true when done, then the right is there
// and `began(Right)`, called when a use begins.
#pragma once

#include <cstdint>

#include "consort/dsm/talk.hpp"
#include "consort/dsm/token.hpp"
#include "consort/icc/wait.hpp"
#include "consort/port.hpp"

namespace consort::dsm {

enum class Outcome : std::uint8_t {
    ok,
    // The deadline passed. The question stays: an answer that comes later is taken in by `serve`.
    timeout,
    // The other side died with changes that are nowhere else. `take_over` goes on with this side's last
    // state.
    lost,
    // The other side's words, or the link's, are none that they write. The region is to be set up again.
    fault,
};

[[nodiscard]] constexpr const char* to_string(Outcome outcome) noexcept {
    switch (outcome) {
        case Outcome::ok:
            return "ok";
        case Outcome::timeout:
            return "timeout";
        case Outcome::lost:
            return "the other side died with changes that are nowhere else";
        case Outcome::fault:
            return "the other side's words are none that it writes";
    }
    return "unknown outcome";
}

// A region's counters, of one side.
struct Counts {
    std::uint64_t uses = 0;      // begun
    std::uint64_t asked = 0;     // questions to the other side
    std::uint64_t restarts = 0;  // of the other side
};

template <class Derived, class A>
class Side {
  public:
    using Mail = Mailbox<Message, A>;

    // Begins to read or write the region; waits until P::now() >= deadline [ticks of P]. The region's bytes
    // are then the newest, and stay until `release`. One use at a time.
    template <Port P, class Spin = P>
    [[nodiscard]] Outcome acquire(Right use, Ticks deadline) noexcept {
        const Status status = detail::wait_until<P, Spin>(deadline, [&] {
            if (try_acquire(use)) {
                return Status::ok;
            }
            return faulty_ || lost_ ? Status::peer_fault : Status::would_block;
        });
        if (status == Status::ok) {
            return Outcome::ok;
        }
        give_up();
        return status == Status::timeout ? Outcome::timeout : faulty_ ? Outcome::fault : Outcome::lost;
    }
    // One step of waiting: serves, and begins the use if that is possible now. Whoever does not go on trying
    // gives up, or the other side waits.
    [[nodiscard]] bool try_acquire(Right use) noexcept {
        token_.want(use);
        serve();
        if (faulty_ || lost_ || !token_.try_begin()) {
            return false;
        }
        counts_.uses += 1;
        self().began(use);
        return true;
    }
    void give_up() noexcept { token_.give_up(); }
    void release() noexcept {
        token_.end();
        serve();
    }

    // One bounded step of what the other side waits for: hears, hands over, grants. A side that is not in
    // `acquire` calls it as often as the bound on the other side's waiting says. False: nothing was to do.
    bool serve() noexcept {
        if (faulty_) {
            return false;
        }
        if (taking_) {
            take_in();
            return true;
        }
        const bool heard = hear();
        const bool answered = answer();
        return say() || heard || answered;
    }

    // After `lost`: this side's copy is the region from now on.
    void take_over() noexcept {
        if (lost_) {
            lost_ = false;
            token_.take_over();
            self().resend_all();
        }
    }

    // Why `try_acquire` goes on answering false: nothing of the protocol helps any more, or `take_over` does.
    [[nodiscard]] bool faulty() const noexcept { return faulty_; }
    [[nodiscard]] bool lost() const noexcept { return lost_; }
    [[nodiscard]] const Token& token() const noexcept { return token_; }
    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

  protected:
    Side(typename Mail::Shared& out, typename Mail::Shared& in, bool preferred, Right right) noexcept
        : talk_(out, in), token_(preferred, right) {}

    void fail() noexcept { faulty_ = true; }
    // With the next grant.
    void announce(std::uint32_t changed, std::uint32_t number) noexcept {
        changed_ = changed;
        number_ = number;
    }

  private:
    Derived& self() noexcept { return static_cast<Derived&>(*this); }

    bool hear() noexcept {
        switch (const Heard heard = talk_.hear(message_); heard) {
            case Heard::nothing:
                return false;
            case Heard::question:
                faulty_ = !token_.hear_ask(static_cast<Right>(message_.right));
                break;
            case Heard::grant:
                // No message is heard until what it grants is there.
                taking_ = token_.asked() == static_cast<Right>(message_.right) && message_.right != 0;
                faulty_ = !taking_;
                break;
            case Heard::first:
            case Heard::restart:
                began_anew(heard == Heard::restart);
                break;
            case Heard::fault:
                faulty_ = true;
                break;
        }
        return true;
    }

    void began_anew(bool again) noexcept {
        const bool unsaid = granted_ != Right::none;
        ask_unsaid_ = false;
        granted_ = Right::none;
        self().stop_handing_over();
        token_.forget_questions();
        if (!again) {
            return;
        }
        counts_.restarts += 1;
        if (token_.right() == Right::none && !unsaid) {
            lost_ = true;
        } else {
            token_.take_over();
            self().resend_all();
        }
    }

    bool answer() noexcept {
        if (granted_ != Right::none || !token_.may_grant() || lost_) {
            return false;
        }
        if (self().hand_over() && !faulty_) {
            granted_ = token_.grant();
        }
        return true;
    }

    // A grant before a question: who was granted a right can be asked for it.
    bool say() noexcept {
        if (granted_ != Right::none) {
            const Status said = talk_.say(false, granted_, changed_, number_);
            faulty_ = faulty_ || said == Status::peer_fault;
            granted_ = said == Status::ok ? Right::none : granted_;
            return true;
        }
        ask_unsaid_ = ask_unsaid_ || (!lost_ && token_.ask());
        if (ask_unsaid_) {
            const Status said = talk_.say(true, token_.asked());
            faulty_ = faulty_ || said == Status::peer_fault;
            ask_unsaid_ = said != Status::ok;
            counts_.asked += said == Status::ok ? 1 : 0;
            return true;
        }
        return false;
    }

    void take_in() noexcept {
        if (self().take(message_)) {
            taking_ = false;
            faulty_ = faulty_ || !token_.hear_grant(static_cast<Right>(message_.right));
        }
    }

    Talk<A> talk_;
    Token token_;
    Message message_{};
    Counts counts_;
    Right granted_ = Right::none;  // granted and not said yet
    bool ask_unsaid_ = false;
    bool taking_ = false;
    bool faulty_ = false;
    bool lost_ = false;
    std::uint32_t changed_ = 0;
    std::uint32_t number_ = 0;
};

}  // namespace consort::dsm
