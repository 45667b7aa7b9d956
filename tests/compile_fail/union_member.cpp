// SPDX-License-Identifier: Apache-2.0
// expect: pointers and unions have no layout that two processors can agree on
#include "consort/icc.hpp"

#ifdef MENDED
struct Number {
#else
union Number {
#endif
    float f;
    unsigned u;
};
struct Message {
    unsigned kind;
    Number number;
};

bool test(consort::RegionMaker<>& maker) {
    return maker.add<consort::Queue<Message, 8>>("ring").ok();
}
