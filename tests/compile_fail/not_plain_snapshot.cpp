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
using Channel = consort::Snapshot<Message, 2>;

// All that a program does with a channel: one mistake gives one message.
bool test(consort::RegionMaker<>& maker, consort::Region<>& region, Message& message) {
    const auto made = maker.add<Channel>("channel");
    auto opened = region.open<Channel>("channel");
    Channel::Writer writer(*opened.value());
    writer.update(message);
    Channel::Reader reader(*opened.value(), 0);
    return made.ok() && reader.read(message) == consort::Status::ok;
}
