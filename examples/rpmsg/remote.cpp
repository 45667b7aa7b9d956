// SPDX-License-Identifier: Apache-2.0
//
// A bare core as the remote processor of Linux's rpmsg: answers each message of a stream once, whatever is
// restarted, and sends greetings back.
//
// Arguments: 0 offset of the window for rpmsg in the shared one, 1 its physical address, 2 offset of what is
// remembered, 3 an identity, unlike those of former runs. Results: 0 messages answered, 1 messages with other
// contents than sent, 2 faults, 3 starts of the driver, 4 greetings.
#include <array>
#include <cstddef>
#include <cstdint>

#include "consort/bare/program.hpp"
#include "examples/rpmsg/messages.hpp"

namespace {

using namespace consort::bare;
using namespace consort::rpmsg;
namespace example = rpmsg_example;
using Access = consort::access::SystemBarrier;
using Rpmsg = Remote<example::entries, 2, Access>;
using Stream = example::Stream<Access>;

class Program {
  public:
    explicit Program(ControlBlock& block) noexcept
        : block_(block),
          remote_(*reinterpret_cast<Rpmsg::Shared*>(window() + block.argument(0)), block.argument(1),
                  std::array<Endpoint, 2>{
                      {{"rpmsg-raw", example::raw}, {"rpmsg-client-sample", example::greeting}}}),
          stream_(*reinterpret_cast<Stream::Shared*>(window() + block.argument(2)), block.argument(3),
                  ThisPort::ticks_per_second() / 20) {}

    void run() noexcept {
        while (!block_.stop_requested()) {
            // Nothing more is taken in before what is owed has been sent.
            const bool sent = send();
            if (!sent && !remote_.step([&](const Message& message) { take(message); })) {
                ThisPort::relax();
            }
            report();
        }
    }

  private:
    bool send() noexcept {
        if (greeted_ != 0) {
            if (remote_.try_send(1, peer_of_greeting_, greeting_.data(), greeted_) == Sent::later) {
                return false;
            }
            greeted_ = 0;
            return true;
        }
        // Whom to answer is known when Linux has said something.
        if (peer_ == 0 || !remote_.announced() || !stream_.next(datagram_, ThisPort::now())) {
            return false;
        }
        if (remote_.try_send(0, peer_, datagram_.at, datagram_.bytes) != Sent::ok) {
            stream_.unsent();
            return false;
        }
        return true;
    }
    void take(const Message& message) noexcept {
        if (message.endpoint == 1) {
            peer_of_greeting_ = message.source;
            greeted_ = message.bytes < greeting_.size() ? message.bytes : greeting_.size();
            __builtin_memcpy(greeting_.data(), message.payload, greeted_);
            greetings_ += 1;
            return;
        }
        peer_ = message.source;
        StreamMessage heard{};
        if (!stream_.hear(message.payload, message.bytes, ThisPort::now(), heard)) {
            return;
        }
        // An answer that was written before a restart is not written again: answers have the messages'
        // numbers.
        if (stream_.written() < heard.number) {
            wrong_ += example::Words(heard.number, false).equal(heard) ? 0 : 1;
            const example::Words answer(heard.number, true);
            if (!stream_.try_write(answer.at, answer.bytes)) {
                return;  // it comes again
            }
        }
        stream_.taken();
    }
    void report() noexcept {
        const bool up = remote_.state() == Rpmsg::State::up;
        starts_ += up && !was_up_ ? 1 : 0;
        was_up_ = up;
        block_.result(0, stream_.messages_taken());
        block_.result(1, wrong_);
        block_.result(2, remote_.faults());
        block_.result(3, starts_);
        block_.result(4, greetings_);
    }

    ControlBlock& block_;
    Rpmsg remote_;
    Stream stream_;
    Stream::Datagram datagram_{};
    std::uint32_t peer_ = 0;
    std::uint32_t peer_of_greeting_ = 0;
    std::array<std::byte, 64> greeting_{};
    std::uint32_t greeted_ = 0;
    std::uint32_t greetings_ = 0;
    std::uint32_t wrong_ = 0;
    std::uint32_t starts_ = 0;
    bool was_up_ = false;
};

}  // namespace

int consort_program(ControlBlock& block) noexcept {
    Program(block).run();
    return 0;
}
