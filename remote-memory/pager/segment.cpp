// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "consort/linux/remote_segment.hpp"
#include "pager.hpp"
#include "transport.hpp"

namespace consort::remote {

Segment::Segment(const SegmentOptions& options) {
    const PagerOptions wanted{options.bytes, options.cache_bytes, options.faults, options.prefetch,
                              options.pages, options.record,      options.timed,  options.page};
    Pager::check(wanted);
    if (options.reconnect.count() < 0 || options.reconnect > std::chrono::hours(1)) {
        throw std::invalid_argument("reconnect: 0 to 1 h");
    }
    std::vector<std::string> servers{options.server};
    servers.insert(servers.end(), options.more_servers.begin(), options.more_servers.end());
    std::string name;
    for (const std::string& each : servers) {
        name += (name.empty() ? "" : "+") + each;
    }
    Attachment asked{options.server, options.key_file, options.bytes, options.patience};
    asked.reconnect = options.reconnect;
    asked.encrypt = options.encrypt;
    asked.fabric = options.fabric;
    pager_ = std::make_unique<Pager>(wanted, attach(asked, servers, options.replicas), name);
    fault_signal::add(pager_.get(), options.faults == Faults::in_thread);
}

Segment::Segment(Segment&& other) noexcept = default;

Segment::~Segment() {
    if (pager_ != nullptr) {
        fault_signal::remove(pager_.get());
    }
}

void* Segment::data() const noexcept {
    return pager_->base();
}
std::size_t Segment::bytes() const noexcept {
    return pager_->bytes();
}
std::size_t Segment::page() const noexcept {
    return pager_->page_size();
}
void Segment::discard(std::size_t offset, std::size_t length) noexcept {
    pager_->discard(offset, length);
}
bool Segment::protect(std::size_t offset, std::size_t length, Rights rights) noexcept {
    return pager_->protect(offset, length, rights == Rights::read_write);
}
Counters Segment::counters() const noexcept {
    return pager_->counters();
}
std::vector<std::uint32_t> Segment::recorded() const {
    return pager_->recorded();
}
void Segment::prefetch(std::vector<std::uint32_t> pages) {
    pager_->prefetch(std::move(pages));
}
bool Segment::settle(const std::vector<Block>& blocks) {
    std::vector<Pager::Range> ranges;
    ranges.reserve(blocks.size());
    for (const Block& each : blocks) {
        ranges.push_back({each.offset, each.bytes});
    }
    if (!pager_->settle(ranges)) {
        return false;
    }
    fault_signal::remove(pager_.get());
    return true;
}
bool Segment::freeze() noexcept {
    return pager_->freeze();
}
void Segment::thaw() noexcept {
    pager_->thaw();
}
std::size_t Segment::held(Block block) const noexcept {
    return pager_->held({block.offset, block.bytes});
}
bool Segment::copy(Block block, std::byte* to) noexcept {
    return pager_->copy({block.offset, block.bytes}, to);
}
bool Segment::lost() const noexcept {
    return pager_->lost();
}

}  // namespace consort::remote
