// SPDX-License-Identifier: Apache-2.0
//
// A request to an accelerator, and its answer. Each client has a Duplex of its own with the server: no client
// can write what another one reads, and none waits for another one's place.
#pragma once

#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/icc/duplex.hpp"
#include "consort/icc/wire.hpp"

namespace consort::accel {

template <class In>
struct Request {
    // The answer repeats it, so that a late answer is never taken for that of the next request.
    std::uint32_t sequence;
    std::uint32_t operation;
    // How many bytes of `in` are meant.
    std::uint32_t size;
    In in;
};

// The server's answer to a request.
enum class Answer : std::uint32_t {
    served = 1,
    unknown_operation = 2,
    not_allowed = 3,  // another client's operation
    oversized = 4,
};

template <class Out>
struct Response {
    std::uint32_t sequence;
    std::uint32_t answer;  // an Answer
    Out out;
};

}  // namespace consort::accel

namespace consort::detail {

template <class T>
struct Carried<accel::Request<T>> {
    using Type = T;
};
template <class T>
struct Carried<accel::Response<T>> {
    using Type = T;
};

}  // namespace consort::detail

namespace consort::accel {

template <class In, class Out, class A = access::Coherent>
using Mail = Duplex<Request<In>, Response<Out>, A>;

}  // namespace consort::accel
