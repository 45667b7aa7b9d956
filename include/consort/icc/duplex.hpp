// SPDX-License-Identifier: Apache-2.0
//
// Duplex<ToServer, ToClient>: messages both ways between two sides, each way as a Mailbox: a request and its
// response, for example.
//
// Small messages (each up to 24 bytes with 64-byte lines) of both directions share one line, each side with
// its words and its message in its own half: the answer travels in the line that brought the question, and a
// round trip costs fewer line transfers than two words on two lines do. Larger messages, and sides that clean
// or invalidate lines (Access::shares_lines is false), have lines of their own for each side.
//
// A side's acknowledgement of what it has read lies beside its own message, and is written together with it:
// by itself it would take the line away from the peer that waits there for the answer, only to be given back.
// So a message that was read makes room for the next one when its reader makes its next call: a write, a look
// for a message, or acknowledge(), which whoever reads and then computes for long calls first. A side that
// ends before that leaves the message to its successor (Resume).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "consort/icc/access.hpp"
#include "consort/icc/form.hpp"
#include "consort/icc/handshake.hpp"
#include "consort/icc/layout.hpp"
#include "consort/icc/wait.hpp"
#include "consort/icc/wire.hpp"

namespace consort {

// Both directions as one type: what two sides of a Duplex must agree on.
template <class ToServer, class ToClient>
struct Exchange {
    alignas(16) ToServer to_server;
    alignas(16) ToClient to_client;
};

template <class ToServer, class ToClient>
struct DeclaredMembers<Exchange<ToServer, ToClient>> {
    static constexpr bool declared = true;
    template <class F>
    static constexpr void visit(F&& f) {
        using Self = Exchange<ToServer, ToClient>;
        f(std::string_view("to_server", 9), offsetof(Self, to_server), std::type_identity<ToServer>{});
        f(std::string_view("to_client", 9), offsetof(Self, to_client), std::type_identity<ToClient>{});
    }
};

namespace detail {

// For two types that travel together, a message names the one that cannot.
template <class ToServer, class ToClient>
struct Carried<Exchange<ToServer, ToClient>> {
    struct Both {
        using Type = Exchange<ToServer, ToClient>;
    };
    using Type = typename std::conditional_t<
        obstacle<ToServer>() != Obstacle::none, Carried<ToServer>,
        std::conditional_t<obstacle<ToClient>() != Obstacle::none, Carried<ToClient>, Both>>::Type;
};

// The largest message of which two, with their words, fit into one line [bytes].
inline constexpr std::uint32_t half_line_message = line_bytes / 2 - 8;

template <class ToServer, class ToClient, class A, bool OneLine>
struct DuplexLines;

template <class ToServer, class ToClient, class A>
struct DuplexLines<ToServer, ToClient, A, true> {
    template <class T>
    struct alignas(line_bytes / 2) Half {
        typename A::Word sequence;      // messages written by this side
        typename A::Word acknowledged;  // messages that this side has read
        typename A::template Cell<T, 8> payload;
    };
    // Written when a side attaches, read by who asks: not on the messages' line.
    struct alignas(line_bytes) Epochs {
        typename A::Word client;
        typename A::Word server;
    };
    alignas(line_bytes) Half<ToServer> client;
    Half<ToClient> server;
    Epochs epochs;

    auto& client_epoch() noexcept { return epochs.client; }
    auto& server_epoch() noexcept { return epochs.server; }
};

template <class ToServer, class ToClient, class A>
struct DuplexLines<ToServer, ToClient, A, false> {
    template <class T>
    struct alignas(line_bytes) Side {
        typename A::Word sequence;      // messages written by this side
        typename A::Word acknowledged;  // messages that this side has read
        typename A::Word epoch;
        typename A::template Cell<T> payload;
    };
    Side<ToServer> client;
    Side<ToClient> server;

    auto& client_epoch() noexcept { return client.epoch; }
    auto& server_epoch() noexcept { return server.epoch; }
};

template <class Lines>
struct ToServerPlaces {
    using Shared = Lines;
    static constexpr std::uint32_t slots = 1;
    static auto& sequence(Shared& shared) noexcept { return shared.client.sequence; }
    static auto& acknowledged(Shared& shared) noexcept { return shared.server.acknowledged; }
    static auto& payload(Shared& shared, std::uint32_t) noexcept { return shared.client.payload; }
};
template <class Lines>
struct ToClientPlaces {
    using Shared = Lines;
    static constexpr std::uint32_t slots = 1;
    static auto& sequence(Shared& shared) noexcept { return shared.server.sequence; }
    static auto& acknowledged(Shared& shared) noexcept { return shared.client.acknowledged; }
    static auto& payload(Shared& shared, std::uint32_t) noexcept { return shared.server.payload; }
};

}  // namespace detail

template <class ToServer, class ToClient, class A = access::Coherent>
class Duplex {
  public:
    using Value = Exchange<ToServer, ToClient>;
    using Access = A;
    static constexpr std::uint32_t kind = 6;
    static constexpr std::uint32_t parameter = 0;
    // True if both directions share one line.
    static constexpr bool one_line = A::shares_lines && sizeof(ToServer) <= detail::half_line_message &&
                                     sizeof(ToClient) <= detail::half_line_message;
    static constexpr Form form = one_line ? Form::shared_lines : Form::whole_lines;

    using Shared = detail::DuplexLines<ToServer, ToClient, A, one_line>;

    // One of the two sides; the same rules as for a Mailbox's. The calls are those of Mailbox's two sides,
    // but for the time of the acknowledgement (above).
    template <class Tx, class Rx, class Out, class In>
    class Side {
      public:
        explicit Side(Shared& shared, Resume resume = Resume::redeliver) noexcept
            : shared_(&shared), out_(shared), in_(shared, resume) {
            auto& mine = epoch(at_client);
            A::template store<SyncPoint::epoch_publish>(mine, A::template load<SyncPoint::own>(mine) + 1);
        }

        [[nodiscard]] Status try_write(const Tx& value) noexcept {
            in_.acknowledge();
            return out_.try_write(value);
        }
        template <class Spin = spin::Relaxed>
        [[nodiscard]] Status write(const Tx& value) noexcept {
            in_.acknowledge();
            return out_.template write<Spin>(value);
        }
        template <Port P, class Spin = P>
        [[nodiscard]] Status write_until(const Tx& value, Ticks deadline) noexcept {
            in_.acknowledge();
            return out_.template write_until<P, Spin>(value, deadline);
        }
        [[nodiscard]] bool empty() const noexcept { return out_.empty(); }
        // Makes room for the peer's next message. Never blocks.
        void acknowledge() noexcept { in_.acknowledge(); }

        [[nodiscard]] Status try_read(Rx& value) noexcept {
            in_.acknowledge();
            return in_.take(value);
        }
        template <class Spin = spin::Relaxed>
        [[nodiscard]] Status read(Rx& value) noexcept {
            in_.acknowledge();
            return detail::wait<Spin>([&] { return in_.take(value); });
        }
        template <Port P, class Spin = P>
        [[nodiscard]] Status read_until(Rx& value, Ticks deadline) noexcept {
            in_.acknowledge();
            return detail::wait_until<P, Spin>(deadline, [&] { return in_.take(value); });
        }

        // Messages written and read since the region was made (modulo 2^32).
        [[nodiscard]] std::uint32_t sequence() const noexcept { return out_.sequence(); }
        [[nodiscard]] std::uint32_t taken() const noexcept { return in_.taken(); }
        // How often the peer has attached; 0 = never. A change means that it was restarted.
        [[nodiscard]] std::uint32_t peer_epoch() const noexcept {
            return A::template load<SyncPoint::epoch_observe>(epoch(!at_client));
        }

      private:
        static constexpr bool at_client = std::is_same_v<Out, detail::ToServerPlaces<Shared>>;

        [[nodiscard]] auto& epoch(bool of_client) const noexcept {
            return of_client ? shared_->client_epoch() : shared_->server_epoch();
        }

        Shared* shared_;
        detail::Sender<Tx, A, Out> out_;
        detail::Receiver<Rx, A, In> in_;
    };

    using Client = Side<ToServer, ToClient, detail::ToServerPlaces<Shared>, detail::ToClientPlaces<Shared>>;
    using Server = Side<ToClient, ToServer, detail::ToClientPlaces<Shared>, detail::ToServerPlaces<Shared>>;
};

}  // namespace consort
