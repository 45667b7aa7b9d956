// SPDX-License-Identifier: Apache-2.0
//
// The measured links: the floors, Consort's channels, and peers that do the same work.
#pragma once

#include <fcntl.h>
#include <mqueue.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>

#include "consort/icc.hpp"
#include "harness.hpp"

#ifdef CONSORT_BENCH_BOOST
#include <boost/lockfree/spsc_queue.hpp>
#endif

namespace bench {

template <std::size_t N>
using Payload = std::array<unsigned char, N>;

inline constexpr std::uint32_t spinning = 2000;  // round trips in a block of about half a millisecond
inline constexpr std::uint32_t sleeping = 40;    // of a link that sleeps in the kernel

// The bare cache-line ping-pong: one word each way, each on a line of its own, or both on one.
template <class Spin, std::size_t Apart = 64>
class Floor : public Link {
  public:
    explicit Floor(const char* spin)
        : Link(Apart == 64 ? "floor" : "floor, one line both ways", 4, spin, spinning) {}
    void ping(std::uint32_t n, std::uint32_t* ticks) override {
        std::uint64_t last = Clock::now();
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::uint32_t next = ++count_;
            there_.word.store(next, std::memory_order_release);
            while (back_.word.load(std::memory_order_acquire) != next) {
                Spin::relax();
            }
            const std::uint64_t now = Clock::now();
            ticks[i] = static_cast<std::uint32_t>(now - last);
            last = now;
        }
    }
    void pong(std::uint32_t n) override {
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::uint32_t next = ++seen_;
            while (there_.word.load(std::memory_order_acquire) != next) {
                Spin::relax();
            }
            back_.word.store(next, std::memory_order_release);
        }
    }

  private:
    struct alignas(Apart) Place {
        std::atomic<std::uint32_t> word{0};
    };
    alignas(64) Place there_;
    Place back_;
    alignas(256) std::uint32_t count_ = 0;
    alignas(256) std::uint32_t seen_ = 0;
};

// A link whose sides are objects: `Ends` makes side 0 (ping) and side 1 (pong).
template <class T, class Ends>
class Sided : public Link {
  public:
    Sided(const char* what, const char* spin, std::uint32_t messages)
        : Link(what, sizeof(T), spin, messages), ends_(std::make_unique<Ends>()) {}
    void ping(std::uint32_t n, std::uint32_t* ticks) override {
        ping_loop<T>(ends_->ping, n, ticks, content_errors);
    }
    void pong(std::uint32_t n) override { pong_loop<T>(ends_->pong, n); }

  private:
    std::unique_ptr<Ends> ends_;
};

// A stream over a queue of Capacity: one side sends, the other receives and checks each message.
template <class T, class Ends, std::uint32_t Capacity>
class Stream : public Link {
  public:
    Stream(const char* what, std::uint32_t messages)
        : Link(what, sizeof(T), "pause", messages, Capacity), ends_(std::make_unique<Ends>()) {}
    // Each side is an object on its own thread's stack, as a producer's and a consumer's loop have them.
    void ping(std::uint32_t n, std::uint32_t* /*ticks*/) override {
        const auto& all = bench::messages<T>();
        auto side = std::move(ends_->ping);
        for (std::uint32_t i = 0; i < n; ++i) {
            side.send(all[i % all.size()]);
        }
        ends_->ping = std::move(side);
    }
    void pong(std::uint32_t n) override {
        const auto& all = bench::messages<T>();
        auto side = std::move(ends_->pong);
        T in{};
        std::uint64_t wrong = 0;
        for (std::uint32_t i = 0; i < n; ++i) {
            side.receive(in);
            wrong += same_ends(in, all[i % all.size()]) ? 0 : 1;
        }
        ends_->pong = std::move(side);
        content_errors += wrong;
    }

  private:
    std::unique_ptr<Ends> ends_;
};

// The raw copy: payload and sequence number in adjacent bytes, no acknowledgement, no checks.
template <class T, class Spin>
struct CopyEnds {
    struct alignas(64) Memory {
        std::atomic<std::uint32_t> sequence{0};
        alignas(16) T payload;
    };
    struct alignas(256) Side {
        Memory* out;
        Memory* in;
        alignas(64) std::uint32_t sent = 0;
        std::uint32_t received = 0;
        void send(const T& value) {
            std::memcpy(&out->payload, &value, sizeof(T));
            out->sequence.store(++sent, std::memory_order_release);
        }
        void receive(T& value) {
            ++received;
            while (in->sequence.load(std::memory_order_acquire) != received) {
                Spin::relax();
            }
            std::memcpy(&value, &in->payload, sizeof(T));
        }
    };
    Memory there;
    Memory back;
    Side ping{&there, &back};
    Side pong{&back, &there};
};

template <class T, class Spin>
struct DuplexEnds {
    using D = consort::Duplex<T, T>;
    template <class End>
    struct alignas(256) Side {
        alignas(64) End end;
        void send(const T& value) { static_cast<void>(end.template write<Spin>(value)); }
        void receive(T& value) { static_cast<void>(end.template read<Spin>(value)); }
    };
    typename D::Shared shared{};
    Side<typename D::Client> ping{typename D::Client(shared)};
    Side<typename D::Server> pong{typename D::Server(shared)};
};

template <class T, class Spin>
struct MailboxEnds {
    using Box = consort::Mailbox<T>;
    struct alignas(256) Side {
        alignas(64) typename Box::Writer writer;
        typename Box::Reader reader;
        void send(const T& value) { static_cast<void>(writer.template write<Spin>(value)); }
        void receive(T& value) { static_cast<void>(reader.template read<Spin>(value)); }
    };
    typename Box::Shared there{};
    typename Box::Shared back{};
    Side ping{typename Box::Writer(there), typename Box::Reader(back)};
    Side pong{typename Box::Writer(back), typename Box::Reader(there)};
};

template <class T, class Spin, std::uint32_t Capacity = 64>
struct QueueEnds {
    using Q = consort::Queue<T, Capacity>;
    struct alignas(256) Side {
        alignas(64) typename Q::Writer writer;
        typename Q::Reader reader;
        void send(const T& value) { static_cast<void>(writer.template write<Spin>(value)); }
        void receive(T& value) { static_cast<void>(reader.template read<Spin>(value)); }
    };
    typename Q::Shared there{};
    typename Q::Shared back{};
    Side ping{typename Q::Writer(there), typename Q::Reader(back)};
    Side pong{typename Q::Writer(back), typename Q::Reader(there)};
};

template <class T, class Spin>
struct SnapshotEnds {
    using S = consort::Snapshot<T, 1>;
    struct alignas(256) Side {
        alignas(64) typename S::Writer writer;
        typename S::Reader reader;
        void send(const T& value) { writer.update(value); }
        void receive(T& value) {
            while (reader.read(value) != consort::Status::ok) {
                Spin::relax();
            }
        }
    };
    typename S::Shared there{};
    typename S::Shared back{};
    Side ping{typename S::Writer(there), typename S::Reader(back, 0)};
    Side pong{typename S::Writer(back), typename S::Reader(there, 0)};
};

#ifdef CONSORT_BENCH_BOOST
template <class T, class Spin, std::uint32_t Capacity = 64>
struct BoostEnds {
    using Q = boost::lockfree::spsc_queue<T, boost::lockfree::capacity<Capacity>>;
    struct alignas(256) Side {
        Q* out;
        Q* in;
        void send(const T& value) {
            while (!out->push(value)) {
                Spin::relax();
            }
        }
        void receive(T& value) {
            while (!in->pop(value)) {
                Spin::relax();
            }
        }
    };
    alignas(64) Q there;
    alignas(64) Q back;
    Side ping{&there, &back};
    Side pong{&back, &there};
};
#endif

// Kernel objects: two descriptors, read and written whole.
struct FdSide {
    int out = -1;
    int in = -1;
    template <class T>
    void send(const T& value) {
        if (::write(out, &value, sizeof(T)) != static_cast<ssize_t>(sizeof(T))) {
            throw std::system_error(errno, std::generic_category(), "write");
        }
    }
    template <class T>
    void receive(T& value) {
        if (::read(in, &value, sizeof(T)) != static_cast<ssize_t>(sizeof(T))) {
            throw std::system_error(errno, std::generic_category(), "read");
        }
    }
};

struct FdEnds {
    FdSide ping;
    FdSide pong;
    FdEnds() = default;
    FdEnds(const FdEnds&) = delete;
    FdEnds& operator=(const FdEnds&) = delete;
    ~FdEnds() {
        for (const int fd : {ping.in, ping.out, pong.in, pong.out}) {
            ::close(fd);
        }
    }
    static void check(int status, const char* what) {
        if (status < 0) {
            throw std::system_error(errno, std::generic_category(), what);
        }
    }
};

struct PipeEnds : FdEnds {
    PipeEnds() {
        int there[2];
        int back[2];
        check(::pipe(there), "pipe");
        check(::pipe(back), "pipe");
        ping = {there[1], back[0]};
        pong = {back[1], there[0]};
    }
};
struct SocketEnds : FdEnds {
    SocketEnds() {
        int there[2];
        int back[2];
        check(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, there), "socketpair");
        check(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, back), "socketpair");
        ping = {there[0], back[0]};
        pong = {back[1], there[1]};
    }
};
// An eventfd carries a counter, not a payload: a value that is neither zero nor the largest, as no message
// is.
struct EventfdSide : FdSide {
    void send(const Payload<8>& value) {
        std::uint64_t signal = 0;
        std::memcpy(&signal, value.data(), 8);
        FdSide::send(signal);
    }
    void receive(Payload<8>& value) {
        std::uint64_t signal = 0;
        FdSide::receive(signal);
        std::memcpy(value.data(), &signal, 8);
    }
};
struct EventfdEnds {
    EventfdSide ping;
    EventfdSide pong;
    EventfdEnds() {
        const int there = ::eventfd(0, 0);
        const int back = ::eventfd(0, 0);
        FdEnds::check(there, "eventfd");
        FdEnds::check(back, "eventfd");
        ping.out = pong.in = there;
        pong.out = ping.in = back;
    }
    EventfdEnds(const EventfdEnds&) = delete;
    EventfdEnds& operator=(const EventfdEnds&) = delete;
    ~EventfdEnds() {
        ::close(ping.out);
        ::close(ping.in);
    }
};
template <std::size_t N>
struct MqEnds {
    struct alignas(256) Side {
        mqd_t out = -1;
        mqd_t in = -1;
        void send(const Payload<N>& value) {
            FdEnds::check(::mq_send(out, reinterpret_cast<const char*>(value.data()), N, 0), "mq_send");
        }
        void receive(Payload<N>& value) {
            FdEnds::check(
                static_cast<int>(::mq_receive(in, reinterpret_cast<char*>(value.data()), N, nullptr)),
                "mq_receive");
        }
    };
    Side ping;
    Side pong;
    MqEnds() {
        ping.out = pong.in = open("there");
        pong.out = ping.in = open("back");
    }
    MqEnds(const MqEnds&) = delete;
    MqEnds& operator=(const MqEnds&) = delete;
    ~MqEnds() {
        ::mq_close(ping.out);
        ::mq_close(ping.in);
    }
    // Unlinked at once: both sides have it open, and nothing can be left behind.
    static mqd_t open(const char* which) {
        const std::string name =
            "/consort-bench-" + std::to_string(::getpid()) + "-" + which + std::to_string(N);
        mq_attr attributes{};
        attributes.mq_maxmsg = 4;
        attributes.mq_msgsize = N;
        const mqd_t queue = ::mq_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600, &attributes);
        FdEnds::check(queue, "mq_open");
        ::mq_unlink(name.c_str());
        return queue;
    }
};

}  // namespace bench
