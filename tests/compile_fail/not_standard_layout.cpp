// SPDX-License-Identifier: Apache-2.0
// expect: must be standard layout: all members public in one class
#include "consort/icc/double_buffer.hpp"

struct Message {
    unsigned first;
#ifndef MENDED
  private:
#endif
    [[maybe_unused]] unsigned second;
};

void test(consort::DoubleBuffer<Message>::Shared& shared) {
    consort::DoubleBuffer<Message>::Writer writer(shared);
}
