// SPDX-License-Identifier: Apache-2.0
//
// One program for every description whose tasks are stand-ins: it reads from the plan image what other
// programs compile in. Its blocks are one word.
#include "consort/linux/executive/stand_ins.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "consort/linux/plan_file.hpp"

namespace consort::linux_port {

namespace {

namespace plan = app::plan;
using Block = app::StandInBlock<1>;

// A channel's requirements on its type beside its kind.
struct Wanted {
    std::string name;
    const plan::Channel* channel;
    std::uint32_t readers;
};

// Operations of a type: one for each, so that each is compiled once.
struct Type {
    void (*channel)(Catalogue&, const std::string& name);
    void (*reads)(Catalogue&, const std::string& task, const std::string& channel, std::uint32_t reader);
    void (*writes)(Catalogue&, const std::string& task, const std::string& channel);
};

template <class C>
constexpr Type type_of{[](Catalogue& catalogue, const std::string& name) { catalogue.channel<C>(name); },
                       [](Catalogue& catalogue, const std::string& task, const std::string& channel,
                          std::uint32_t reader) { catalogue.stand_in_reads<C>(task, channel, reader); },
                       [](Catalogue& catalogue, const std::string& task, const std::string& channel) {
                           catalogue.stand_in_writes<C>(task, channel);
                       }};

[[noreturn]] void refuse_size(const Wanted& wanted) {
    throw std::invalid_argument("channel " + wanted.name + ": the prepared program has none of its kind of " +
                                std::to_string(wanted.channel->capacity) + " blocks");
}

// Queues hold powers of two, up to 4,096 blocks.
template <std::uint32_t N = 2>
const Type& queue_of(const Wanted& wanted) {
    if (wanted.channel->capacity == N) {
        return type_of<app::QueueOf<Block, N>>;
    }
    if constexpr (N < 4096) {
        return queue_of<2 * N>(wanted);
    } else {
        refuse_size(wanted);
    }
}

// Exactly so many versions, because one too few overtakes a reader; up to 16.
template <std::uint32_t N = 2>
const Type& versions_of(const Wanted& wanted) {
    if (std::max(wanted.channel->capacity, 2U) == N) {
        return type_of<app::VersionsOf<Block, N>>;
    }
    if constexpr (N < 16) {
        return versions_of<N + 1>(wanted);
    } else {
        refuse_size(wanted);
    }
}

// Room for so many readers or more, up to 64.
template <std::uint32_t N = 1>
const Type& snapshot_of(const Wanted& wanted) {
    if (wanted.readers <= N) {
        return type_of<app::SnapshotOf<Block, N>>;
    }
    if constexpr (N < 64) {
        return snapshot_of<4 * N>(wanted);
    } else {
        refuse_size(wanted);
    }
}

const Type& type_for(const Wanted& wanted) {
    switch (wanted.channel->kind) {
        case plan::ChannelKind::mailbox:
            return type_of<app::MailboxOf<Block>>;
        case plan::ChannelKind::queue:
            return queue_of(wanted);
        case plan::ChannelKind::snapshot:
            return snapshot_of(wanted);
        case plan::ChannelKind::double_buffer:
            return type_of<app::DoubleBufferOf<Block>>;
        case plan::ChannelKind::versions:
            return versions_of(wanted);
    }
    throw std::invalid_argument("channel " + wanted.name + ": there is no such kind");
}

// The names of one kind, in their order.
std::vector<std::string> names_of(const plan::Image& image, char kind) {
    std::vector<std::string> found;
    std::string_view left = image.names();
    while (!left.empty()) {
        const std::size_t end = std::min(left.find('\0'), left.size());
        if (left.front() == kind) {
            found.emplace_back(left.substr(1, end - 1));
        }
        left.remove_prefix(std::min(end + 1, left.size()));
    }
    return found;
}

// A task's ends in all modes, those that read first.
std::vector<plan::End> ends_of(const plan::Image& image, std::uint32_t task) {
    std::vector<plan::End> found;
    for (const bool writes : {false, true}) {
        for (std::uint32_t mode = 0; mode < image.head().modes; ++mode) {
            const plan::Rows& rows = image.task(mode, task).ends;
            for (std::uint32_t e = rows.first; e < rows.first + rows.count; ++e) {
                const plan::End& end = image.end(e);
                const bool known = std::any_of(found.begin(), found.end(), [&](const plan::End& one) {
                    return one.channel == end.channel && one.reader == end.reader;
                });
                if (!known && (end.reader == plan::none) == writes) {
                    found.push_back(end);
                }
            }
        }
    }
    return found;
}

}  // namespace

Catalogue stand_ins_of(const std::string& path) {
    Catalogue catalogue;
    if (path.empty()) {
        return catalogue;  // asked for layouts alone
    }
    const PlanFile file(path, 0);
    const plan::Image& image = file.image();
    const std::vector<std::string> tasks = names_of(image, plan::Names::of_task);
    const std::vector<std::string> channels = names_of(image, plan::Names::of_channel);
    if (tasks.size() != image.head().tasks || channels.size() != image.count(plan::Table::channels)) {
        throw std::invalid_argument("image: " + path + ": it has no names for its tasks and channels");
    }
    std::vector<std::vector<plan::End>> ends;
    std::vector<Wanted> wanted;
    for (std::uint32_t c = 0; c < channels.size(); ++c) {
        wanted.push_back({channels[c], &image.channel(c), 1});
    }
    std::vector<bool> written(channels.size(), false);
    for (std::uint32_t t = 0; t < tasks.size(); ++t) {
        bool offloaded = false;
        for (std::uint32_t mode = 0; mode < image.head().modes; ++mode) {
            offloaded = offloaded || image.task(mode, t).worker != plan::none;
        }
        if (offloaded) {
            catalogue.task<StandIn, true>(tasks[t]);
        } else {
            catalogue.task<StandIn>(tasks[t]);
        }
        ends.push_back(ends_of(image, t));
        for (const plan::End& end : ends.back()) {
            if (end.reader == plan::none) {
                written[end.channel] = true;
            } else {
                wanted[end.channel].readers = std::max(wanted[end.channel].readers, end.reader + 1);
            }
        }
    }
    std::vector<const Type*> types;
    for (const Wanted& one : wanted) {
        types.push_back(&type_for(one));
        types.back()->channel(catalogue, one.name);
    }
    for (std::uint32_t t = 0; t < tasks.size(); ++t) {
        for (const plan::End& end : ends[t]) {
            if (end.reader == plan::none) {
                types[end.channel]->writes(catalogue, tasks[t], channels[end.channel]);
            } else {
                types[end.channel]->reads(catalogue, tasks[t], channels[end.channel], end.reader);
            }
        }
    }
    // A device that is only described writes numbered blocks, in the name of no task.
    for (std::uint32_t c = 0; c < channels.size(); ++c) {
        if (!written[c]) {
            types[c]->writes(catalogue, "", channels[c]);
        }
    }
    return catalogue;
}

}  // namespace consort::linux_port
