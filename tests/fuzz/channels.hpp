// SPDX-License-Identifier: Apache-2.0
//
// One side of each channel, driven by the fuzzer's bytes: it writes, reads, and is restarted. Whatever the
// other side has put into the shared words, each call returns, answers with one of its documented statuses,
// and touches nothing outside of the channel.
#pragma once

#include <cstring>
#include <memory>
#include <type_traits>

#include "consort/icc/control.hpp"
#include "consort/link.hpp"
#include "input.hpp"

namespace consort::fuzz {

// Larger than a line, and no multiple of one.
struct Message {
    std::uint32_t number;
    std::uint8_t bytes[72];
};

inline void expect_status(Status status) {
    require(status == Status::ok || status == Status::would_block || status == Status::peer_fault,
            "an attempt answers ok, would_block or peer_fault");
}

class MailboxSide {
  public:
    using Channel = Mailbox<Message>;
    using Shared = Channel::Shared;
    explicit MailboxSide(Shared& shared) : shared_(&shared), writer_(shared), reader_(shared) {}
    void act(std::uint8_t what) {
        switch (what % 5) {
            case 0:
                return expect_status(writer_.try_write(message_));
            case 1:
                return expect_status(reader_.try_read(message_));
            case 2:
                static_cast<void>(writer_.empty());
                break;
            case 3:
                writer_ = Channel::Writer(*shared_);
                break;
            default:
                reader_ = Channel::Reader(*shared_, what > 128 ? Resume::discard : Resume::redeliver);
        }
    }

  private:
    Shared* shared_;
    Channel::Writer writer_;
    Channel::Reader reader_;
    Message message_{};
};

template <class T>
class DuplexSide {
  public:
    using Channel = Duplex<T, T>;
    using Shared = typename Channel::Shared;
    explicit DuplexSide(Shared& shared) : client_(shared), server_(shared, Resume::discard) {}
    void act(std::uint8_t what) { what >= 128 ? on(server_, what) : on(client_, what); }

  private:
    template <class Side>
    void on(Side& side, std::uint8_t what) {
        switch (what % 3) {
            case 0:
                return expect_status(side.try_write(message_));
            case 1:
                return expect_status(side.try_read(message_));
            default:
                side.acknowledge();
        }
    }

    typename Channel::Client client_;
    typename Channel::Server server_;
    T message_{};
};

class BufferSide {
  public:
    using Channel = DoubleBuffer<Message>;
    using Shared = Channel::Shared;
    explicit BufferSide(Shared& shared) : shared_(&shared), writer_(shared), reader_(shared) {}
    void act(std::uint8_t what) {
        switch (what % 3) {
            case 0:
                writer_.update(message_);
                break;
            case 1:
                return expect_status(reader_.read_latest(message_));
            default:
                writer_ = Channel::Writer(*shared_);
        }
    }

  private:
    Shared* shared_;
    Channel::Writer writer_;
    Channel::Reader reader_;
    Message message_{};
};

template <class T>
class SnapshotSide {
  public:
    using Channel = Snapshot<T, 3>;
    using Shared = typename Channel::Shared;
    explicit SnapshotSide(Shared& shared) : shared_(&shared), writer_(shared), reader_(shared, 2) {}
    void act(std::uint8_t what) {
        switch (what % 4) {
            case 0:
                writer_.update(message_);
                break;
            case 1:
                return expect_status(reader_.read(message_));
            case 2:
                writer_ = typename Channel::Writer(*shared_);
                break;
            default:
                // An index that is none is the caller's defect; it must stay inside of the channel.
                reader_ = typename Channel::Reader(*shared_, what / 4);
        }
    }

  private:
    Shared* shared_;
    typename Channel::Writer writer_;
    typename Channel::Reader reader_;
    T message_{};
};

template <class T, std::uint32_t N>
class QueueSide {
  public:
    using Channel = Queue<T, N>;
    using Shared = typename Channel::Shared;
    explicit QueueSide(Shared& shared) : shared_(&shared), writer_(shared), reader_(shared) {}
    void act(std::uint8_t what) {
        T batch[20] = {};
        const std::uint32_t count = what / 8U % 20U;
        switch (what % 7) {
            case 0:
                return expect_status(writer_.try_write(batch[0]));
            case 1:
                return expect_status(reader_.try_read(batch[0]));
            case 2:
                require(writer_.write_batch(batch, count) <= count, "no more is written than was given");
                break;
            case 3:
                require(reader_.read_batch(batch, count) <= count, "no more is read than there is room for");
                break;
            case 4:
                writer_ = typename Channel::Writer(*shared_);
                break;
            case 5:
                reader_ = typename Channel::Reader(*shared_);
                break;
            default:
                static_cast<void>(reader_.overruns());
        }
    }

  private:
    Shared* shared_;
    typename Channel::Writer writer_;
    typename Channel::Reader reader_;
};

class ControlSide {
  public:
    using Channel = WorkerControl<>;
    using Shared = Channel::Shared;
    explicit ControlSide(Shared& shared) : master_(shared), worker_(shared) {}
    void act(std::uint8_t what) {
        switch (what % 4) {
            case 0:
                worker_.beat();
                break;
            case 1:
                worker_.busy(what);
                break;
            case 2:
                master_.order(what > 128 ? Command::stop : Command::run);
                break;
            default:
                static_cast<void>(master_.busy());
                static_cast<void>(worker_.command());
        }
    }

  private:
    Channel::Master master_;
    Channel::Worker worker_;
};

// Host and engine of a link, each of which has a peer that writes anything into the ring. The windows are the
// object's own: AddressSanitizer sees what leaves them.
class LinkSide {
  public:
    using Channel = link::Ring<4>;
    using Shared = Channel::Shared;
    explicit LinkSide(Shared& shared) : shared_(&shared), host_(shared, near(), window) {
        require(engine_.attach(0, shared, near(), far()), "an engine takes a queue that it has");
    }
    void act(std::uint8_t what) {
        const std::uint32_t number = what / 8;
        switch (what % 5) {
            case 0:
                post(number);
                break;
            case 1: {
                link::Completion done{};
                const std::uint32_t before = host_.in_flight();
                const Status status = host_.poll(done);
                expect_status(status);
                require(host_.in_flight() == before - (status == Status::ok ? 1 : 0),
                        "a completion ends one transaction");
                break;
            }
            case 2:
                static_cast<void>(engine_.step(number));
                break;
            case 3:
                host_ = link::Host<4>(*shared_, near(), window);
                break;
            default:
                // Refused while a transaction is under way.
                static_cast<void>(engine_.attach(0, *shared_, near(), far()));
        }
    }

  private:
    static constexpr std::uint32_t window = 64;
    // Copies when it is looked at; every fifth transfer fails.
    struct Copy {
        spm::Transfer transfer{};
        bool busy = false;
        std::uint32_t started = 0;
        void start(const spm::Transfer& wanted) noexcept {
            transfer = wanted;
            busy = true;
            started += 1;
        }
        spm::DmaState state() noexcept {
            if (busy && started % 5 == 0) {
                busy = false;
                return spm::DmaState::error;
            }
            for (std::uint32_t i = 0; busy && i < transfer.count; ++i) {
                const spm::Segment& s = transfer.segment[i];
                std::memcpy(s.to, s.from, s.bytes);
            }
            busy = false;
            return spm::DmaState::idle;
        }
        void abort() noexcept { busy = false; }
    };

    void post(std::uint32_t number) {
        link::Piece pieces[6];
        for (std::uint32_t i = 0; i < 6; ++i) {
            pieces[i] = {number * i % 70, number + i, number % 9 * i};
        }
        const auto direction = number % 2 == 0 ? link::Direction::to_peer : link::Direction::from_peer;
        static_cast<void>(host_.try_post(direction, pieces, number % 7, number, link::Completing::by_event));
    }
    [[nodiscard]] link::Window near() { return {near_.get(), window}; }
    [[nodiscard]] link::Window far() { return {far_.get(), window}; }

    Shared* shared_;
    std::unique_ptr<std::byte[]> near_ = std::make_unique<std::byte[]>(window);
    std::unique_ptr<std::byte[]> far_ = std::make_unique<std::byte[]>(window);
    Copy dma_;
    link::Host<4> host_;
    link::Engine<Copy, 1, 4> engine_{dma_, 16};
};

// Calls f(std::type_identity<Side>) for the channel of that number.
template <class F>
void with_channel(std::uint8_t which, F&& f) {
    switch (which % 10) {
        case 0:
            return f(std::type_identity<MailboxSide>{});
        case 1:
            return f(std::type_identity<DuplexSide<Message>>{});
        case 2:
            return f(std::type_identity<BufferSide>{});
        case 3:
            return f(std::type_identity<SnapshotSide<Message>>{});
        case 4:
            return f(std::type_identity<SnapshotSide<std::uint64_t>>{});
        case 5:
            return f(std::type_identity<QueueSide<Message, 8>>{});
        case 6:
            return f(std::type_identity<QueueSide<std::uint64_t, 16>>{});
        case 7:
            return f(std::type_identity<DuplexSide<std::uint64_t>>{});
        case 8:
            return f(std::type_identity<LinkSide>{});
        default:
            return f(std::type_identity<ControlSide>{});
    }
}

}  // namespace consort::fuzz
