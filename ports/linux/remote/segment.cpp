// SPDX-License-Identifier: Apache-2.0
#include "consort/linux/remote_segment.hpp"
#include "pager.hpp"
#include "transport.hpp"

namespace consort::remote {

Segment::Segment(const SegmentOptions& options) {
    const PagerOptions wanted{options.bytes, options.cache_bytes, options.faults, options.prefetch,
                              options.pages};
    Pager::check(wanted);
    pager_ = std::make_unique<Pager>(
        wanted, attach({options.server, options.key_file, options.bytes, options.patience}), options.server);
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
void Segment::discard(std::size_t offset, std::size_t length) noexcept {
    pager_->discard(offset, length);
}
bool Segment::protect(std::size_t offset, std::size_t length, Rights rights) noexcept {
    return pager_->protect(offset, length, rights == Rights::read_write);
}
Counters Segment::counters() const noexcept {
    return pager_->counters();
}
bool Segment::lost() const noexcept {
    return pager_->lost();
}

}  // namespace consort::remote
