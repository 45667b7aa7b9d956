// SPDX-License-Identifier: Apache-2.0
// expect: must be trivially copyable: no virtual functions
#include <string>

#include "consort/icc.hpp"

struct Message {
    unsigned number;
#ifndef MENDED
    std::string text;
#endif
};
using Channel = consort::Queue<Message, 8>;

// All that a program does with a channel: one mistake gives one message.
bool test(consort::RegionMaker<>& maker, consort::Region<>& region, Message& message) {
    const auto made = maker.add<Channel>("channel");
    auto opened = region.open<Channel>("channel");
    Channel::Writer writer(*opened.value());
    writer.write_or_count(message);
    Channel::Reader reader(*opened.value());
    return made.ok() && reader.try_read(message) == consort::Status::ok;
}
