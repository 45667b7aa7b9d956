// SPDX-License-Identifier: Apache-2.0
// expect: ignoring return value
#include "consort/icc/mailbox.hpp"

void test(consort::Mailbox<float>::Writer& writer) {
#ifdef MENDED
    static_cast<void>(writer.try_write(1));
#else
    writer.try_write(1);
#endif
}
