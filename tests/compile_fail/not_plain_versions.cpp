// SPDX-License-Identifier: Apache-2.0
// expect: must be trivially copyable: no virtual functions
#include <vector>

#include "consort/icc.hpp"

struct Message {
    unsigned number;
#ifndef MENDED
    std::vector<int> samples;
#endif
};
using Channel = consort::Versions<Message, 3>;

// All that a program does with a channel: one mistake gives one message.
bool test(consort::RegionMaker<>& maker, consort::Region<>& region, Message& message) {
    const auto made = maker.add<Channel>("channel");
    auto opened = region.open<Channel>("channel");
    Channel::Writer writer(*opened.value());
    writer.publish(message, 1);
    Channel::Reader reader(*opened.value());
    return made.ok() && reader.read_as_of(message, 1).status == consort::Status::ok;
}
