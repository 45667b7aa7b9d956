// SPDX-License-Identifier: Apache-2.0
// expect: must be standard layout: all members public in one class, no references
#include <cstdint>

#include "consort/icc.hpp"

struct Message {
    unsigned number;
#ifndef MENDED
    unsigned& total;
#endif
};
using Channel = consort::Mailbox<Message>;

// All that a program does with a channel: one mistake gives one message.
bool test(consort::RegionMaker<>& maker, consort::Region<>& region, Message& message) {
    const auto made = maker.add<Channel>("channel");
    auto opened = region.open<Channel>("channel");
    Channel::Writer writer(*opened.value());
    static_cast<void>(writer.write(message));
    Channel::Reader reader(*opened.value());
    return made.ok() && reader.read(message) == consort::Status::ok;
}
