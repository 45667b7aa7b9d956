// SPDX-License-Identifier: Apache-2.0
// expect: must be trivially copyable: no virtual functions
#include "consort/icc/mailbox.hpp"

struct Message {
    unsigned number;
#ifndef MENDED
    ~Message() {
        number = 0;
    }
#endif
};

void test(consort::Mailbox<Message>::Shared& shared) {
    consort::Mailbox<Message>::Writer writer(shared);
}
