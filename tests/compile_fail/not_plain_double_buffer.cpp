// SPDX-License-Identifier: Apache-2.0
// expect: must be trivially copyable: no virtual functions
#include <cstdint>

#include "consort/icc.hpp"

struct Message {
    unsigned number;
#ifndef MENDED
    virtual void handle(){};
#endif
};
using Channel = consort::DoubleBuffer<Message>;

// All that a program does with a channel: one mistake gives one message.
bool test(consort::RegionMaker<>& maker, consort::Region<>& region, Message& message) {
    const auto made = maker.add<Channel>("channel");
    auto opened = region.open<Channel>("channel");
    Channel::Writer writer(*opened.value());
    writer.update(message);
    Channel::Reader reader(*opened.value());
    return made.ok() && reader.read_latest(message) == consort::Status::ok;
}
