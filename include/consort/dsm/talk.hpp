// SPDX-License-Identifier: Apache-2.0
//
// Questions and grants between the two sides of a shared region, by a mailbox in each direction. Messages to
// or from a side that has begun anew since are not heard.
#pragma once

#include <cstdint>

#include "consort/dsm/token.hpp"
#include "consort/icc/access.hpp"
#include "consort/icc/mailbox.hpp"
#include "consort/icc/status.hpp"

namespace consort::dsm {

struct Message {
    std::uint32_t question;  // 1: asks for a right; 0: grants it
    std::uint32_t right;     // a Right
    std::uint32_t to;        // how often the reader has begun
    std::uint32_t from;      // how often the writer has begun
    std::uint32_t changed;   // with the peer's grant: pages that it has changed
    std::uint32_t number;    // with the peer's grant: which set of changes that is
};

// The result of a look at the other side's mailbox.
enum class Heard : std::uint8_t {
    nothing,
    question,
    grant,
    first,    // the other side is there, for the first time since this side began
    restart,  // it has begun anew
    fault,    // its words are none that it writes
};

template <class A>
class Talk {
  public:
    using Mail = Mailbox<Message, A>;

    Talk(typename Mail::Shared& out, typename Mail::Shared& in) noexcept
        : out_(out),
          in_(in, Resume::discard),
          own_writer_(A::template load<SyncPoint::own>(out.writer.epoch)),
          own_reader_(A::template load<SyncPoint::own>(in.reader.epoch)),
          writer_(in_.peer_epoch()),
          reader_(out_.peer_epoch()) {}

    // Says it if the last message was read: ok, would_block or peer_fault.
    [[nodiscard]] Status say(bool question, Right right, std::uint32_t changed = 0,
                             std::uint32_t number = 0) noexcept {
        return out_.try_write(
            {question ? 1U : 0U, static_cast<std::uint32_t>(right), reader_, own_writer_, changed, number});
    }

    // The next thing to be heard; a message is in `message`.
    [[nodiscard]] Heard hear(Message& message) noexcept {
        // The message first: who wrote it has begun before, so the looks that follow see that.
        const Status status = kept_ ? Status::ok : in_.try_read(kept_message_);
        if (status == Status::peer_fault) {
            return Heard::fault;
        }
        kept_ = status == Status::ok;
        const std::uint32_t writer = in_.peer_epoch();
        const std::uint32_t reader = out_.peer_epoch();
        if (writer != writer_ || reader != reader_) {
            const bool before = writer_ != 0 && reader_ != 0;
            writer_ = writer;
            reader_ = reader;
            return before ? Heard::restart : Heard::first;
        }
        if (!kept_) {
            return Heard::nothing;
        }
        kept_ = false;
        message = kept_message_;
        if (message.to != own_reader_ || message.from != writer_) {
            return Heard::nothing;
        }
        if (message.question > 1 || message.right > static_cast<std::uint32_t>(Right::write)) {
            return Heard::fault;
        }
        return message.question != 0 ? Heard::question : Heard::grant;
    }

  private:
    typename Mail::Writer out_;
    typename Mail::Reader in_;
    std::uint32_t own_writer_;
    std::uint32_t own_reader_;
    // How often the other side has begun, as its writer and as its reader.
    std::uint32_t writer_;
    std::uint32_t reader_;
    bool kept_ = false;
    Message kept_message_{};
};

}  // namespace consort::dsm
