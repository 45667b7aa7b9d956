// SPDX-License-Identifier: Apache-2.0
// expect: too many members to be found without help: declare them with CONSORT_LAYOUT
#include "consort/icc/layout.hpp"

struct Message {
    float a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9;
    float c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9;
    float e0, e1, e2, e3, e4, e5, e6, e7;
#ifndef MENDED
    float e8;
#endif
};

std::uint64_t test() {
    return consort::Layout<Message>::fingerprint;
}
