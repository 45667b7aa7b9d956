// SPDX-License-Identifier: Apache-2.0
// expect: pointers and unions have no layout that two processors can agree on
#include "consort/icc.hpp"

struct Message {
    unsigned bytes;
#ifndef MENDED
    const char* text;
#endif
};

bool test(consort::RegionMaker<>& maker) {
    return maker.add<consort::Mailbox<Message>>("box").ok();
}
