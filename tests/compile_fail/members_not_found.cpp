// SPDX-License-Identifier: Apache-2.0
// expect: declare them with CONSORT_LAYOUT(Type, members...)
#include "consort/icc/layout.hpp"

struct Message {
    Message() = default;
    explicit Message(float gain) : gain(gain) {}
    float gain;
    unsigned number;
};
#ifdef MENDED
CONSORT_LAYOUT(Message, gain, number);
#endif

std::uint64_t test() {
    return consort::Layout<Message>::fingerprint;
}
