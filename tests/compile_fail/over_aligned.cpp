// SPDX-License-Identifier: Apache-2.0
// expect: is aligned to at most 16 bytes
#include "consort/icc/queue.hpp"

#ifdef MENDED
struct alignas(16) Message {
#else
struct alignas(32) Message {
#endif
    float vector[8];
};

void test(consort::Queue<Message, 4>::Shared& shared) {
    consort::Queue<Message, 4>::Writer writer(shared);
}
