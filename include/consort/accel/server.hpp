// SPDX-License-Identifier: Apache-2.0
//
// The accelerator's side: takes the clients' requests, serves one at a time as the arbitration has it, and
// trusts no client.
//
// A client's possible influence on others:
// - It floods: a client has one request here and one in its mailbox; it waits for its own turn.
// - It asks for what it may not have, or for too much: the request takes its client's turn, as the client's
//   longest operation would, and is refused. Reading it costs the others no more than one that is served.
// - It dies, also while it is served: the operation under way ends, then the next client is served. The
//   server waits for no client, and no client holds a lock.
// - It does not take its answer: its next request stays where it is until it has.
// - It overwrites the words of its own mailbox: it is cut off until the region is set up again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "consort/accel/arbiter.hpp"
#include "consort/accel/request.hpp"
#include "consort/port.hpp"

namespace consort::accel {

// How long an operation occupies the accelerator at most [ticks], the server's own part with it (choosing,
// reading the request, writing the answer); and the largest request that this holds for [bytes].
struct Operation {
    Ticks cost;
    std::uint32_t largest;
};

struct ClientRule {
    Share share;
    // By its number, bit by bit, whether an operation is allowed.
    std::uint32_t operations = 0;
};

struct Counts {
    std::uint32_t served = 0;
    std::uint32_t refused = 0;
    bool cut_off = false;
};

template <class In, class Out, Port P, std::uint32_t Clients, std::uint32_t Operations,
          class A = access::Coherent>
class Server {
    static_assert(Clients > 0 && Operations > 0 && Operations <= 32,
                  "an accelerator has clients, and 1 to 32 operations");

  public:
    using Box = Mail<In, Out, A>;

    // `round`: of TDMA slots. Times count from `start`. What clients asked for before is void, of a former
    // server or of none: a client that waits without a deadline asks when its side's peer_epoch() is not 0.
    Server(Arbitration rule, Ticks round, Ticks start, const Operation (&operations)[Operations],
           const ClientRule (&rules)[Clients], typename Box::Shared* const (&boxes)[Clients]) noexcept
        : Server(rule, round, start, operations, rules, boxes, std::make_index_sequence<Clients>{}) {}
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server() = default;

    // Looks at each client once, and serves one request if one may begin. Whose: a client's number, or
    // `nobody`. `execute(operation, in, size, out)` runs the operation.
    template <class Execute>
    std::uint32_t poll(Execute&& execute) noexcept {
        for (Client& client : clients_) {
            look(client);
        }
        const Ticks now = P::now() - start_;
        const Choice choice = choose(
            rule_, round_, Clients, now,
            [this](std::uint32_t i) -> const Account& { return clients_[i].account; },
            [this](std::uint32_t i) { return cost(clients_[i]); });
        if (choice.client == nobody) {
            return nobody;
        }
        Client& client = clients_[choice.client];
        client.account.begin(rule_, now, cost(client));
        client.waiting = false;
        Response<Out> response{};
        response.sequence = client.request.sequence;
        const Answer verdict = judge(client);
        response.answer = static_cast<std::uint32_t>(verdict);
        if (verdict == Answer::served) {
            execute(client.request.operation, client.request.in, client.request.size, response.out);
            ++client.counts.served;
        } else {
            ++client.counts.refused;
        }
        // There was room before the request began, and nobody else writes there.
        client.counts.cut_off = client.counts.cut_off || client.side.try_write(response) != Status::ok;
        return choice.client;
    }

    [[nodiscard]] const Counts& counts(std::uint32_t client) const noexcept {
        return clients_[client].counts;
    }

  private:
    struct Client {
        Client(typename Box::Shared& box, const ClientRule& rule, Ticks longest_operation) noexcept
            : side(box, Resume::discard),
              account(rule.share),
              allowed(rule.operations),
              longest(longest_operation) {}

        typename Box::Server side;
        Account account;
        std::uint32_t allowed;
        // The longest of the operations that it may ask for; a request that is refused counts as one of
        // these.
        Ticks longest;
        Request<In> request{};
        bool waiting = false;
        Counts counts{};
    };

    template <std::size_t... I>
    Server(Arbitration rule, Ticks round, Ticks start, const Operation (&operations)[Operations],
           const ClientRule (&rules)[Clients], typename Box::Shared* const (&boxes)[Clients],
           std::index_sequence<I...> /*clients*/) noexcept
        : rule_(rule),
          round_(round),
          start_(start),
          clients_{Client(*boxes[I], rules[I], longest(operations, rules[I].operations))...} {
        for (std::uint32_t k = 0; k < Operations; ++k) {
            operations_[k] = operations[k];
        }
    }

    [[nodiscard]] static Ticks longest(const Operation (&operations)[Operations],
                                       std::uint32_t allowed) noexcept {
        Ticks found = 1;
        for (std::uint32_t k = 0; k < Operations; ++k) {
            if ((allowed >> k & 1U) != 0 && operations[k].cost > found) {
                found = operations[k].cost;
            }
        }
        return found;
    }

    static void look(Client& client) noexcept {
        if (client.waiting || client.counts.cut_off) {
            return;
        }
        const Status status = client.side.try_read(client.request);
        client.waiting = status == Status::ok;
        client.counts.cut_off = status == Status::peer_fault;
        if (client.waiting) {
            // At once: a client that gave this request up needs room for its next one.
            client.side.acknowledge();
        }
    }

    [[nodiscard]] Answer judge(const Client& client) const noexcept {
        const Request<In>& request = client.request;
        if (request.operation >= Operations) {
            return Answer::unknown_operation;
        }
        if ((client.allowed >> request.operation & 1U) == 0) {
            return Answer::not_allowed;
        }
        const bool fits =
            request.size <= operations_[request.operation].largest && request.size <= sizeof(In);
        return fits ? Answer::served : Answer::oversized;
    }

    // 0: it has no request that may begin.
    [[nodiscard]] Ticks cost(const Client& client) const noexcept {
        if (!client.waiting || client.counts.cut_off || !client.side.empty()) {
            return 0;
        }
        return judge(client) == Answer::served ? operations_[client.request.operation].cost : client.longest;
    }

    Arbitration rule_;
    Ticks round_;
    Ticks start_;
    Operation operations_[Operations]{};
    Client clients_[Clients];
};

}  // namespace consort::accel
