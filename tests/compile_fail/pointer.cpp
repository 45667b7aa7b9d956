// SPDX-License-Identifier: Apache-2.0
// expect: a pointer means nothing to a processor that maps the region elsewhere
#include "consort/icc/snapshot.hpp"

#ifdef MENDED
using Message = unsigned;
#else
using Message = const unsigned*;
#endif

void test(consort::Snapshot<Message, 2>::Shared& shared) {
    consort::Snapshot<Message, 2>::Reader reader(shared, 0);
}
