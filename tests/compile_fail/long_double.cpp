// SPDX-License-Identifier: Apache-2.0
// expect: long double has a different format on each instruction set
#include "consort/icc/layout.hpp"

struct Message {
#ifdef MENDED
    double value;
#else
    long double value;
#endif
};

std::uint64_t test() {
    return consort::Layout<Message>::fingerprint;
}
