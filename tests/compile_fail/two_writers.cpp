// SPDX-License-Identifier: Apache-2.0
// A channel's side is one object: it can be moved, not copied.
// expect: deleted
#include <utility>

#include "consort/icc/queue.hpp"

using Writer = consort::Queue<float, 8>::Writer;

#ifdef MENDED
Writer test(Writer& writer) {
    return std::move(writer);
}
#else
Writer test(Writer& writer) {
    return writer;
}
#endif
