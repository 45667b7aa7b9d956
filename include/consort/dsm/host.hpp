// SPDX-License-Identifier: Apache-2.0
//
// Host: the side of a shared region that posts the link's transactions. It sends what it changed before it
// grants, and fetches what the peer changed before it reads.
//
// Entry consistency (Bershad and Zekauskas, 1991): the region's bytes are made equal when a side begins to
// use it, and only where they differ. Neither side's memory is coherent with the other's.
#pragma once

#include <cstdint>

#include "consort/dsm/changes.hpp"
#include "consort/dsm/side.hpp"
#include "consort/link/transaction.hpp"

namespace consort::dsm {

// Where a region lies: offsets in the link's windows [bytes], multiples of 64.
struct Places {
    std::uint32_t local;         // the host's copy, in the host's window
    std::uint32_t remote;        // the peer's copy, in the peer's window
    std::uint32_t local_masks;   // room for the peer's masks, in the host's window: 8 bytes a page
    std::uint32_t remote_masks;  // the peer's masks, in the peer's window
};

// How changed lines become pieces of transactions.
struct Pieces {
    // Unchanged lines between changed ones that are sent with them: each piece costs a descriptor. 63: pages
    // with changes go whole, as far as they lie between their first and their last changed line.
    std::uint32_t gap = 3;
    std::uint32_t most = 256 * 1024;  // of one piece [bytes], a multiple of 64
    std::uint32_t batch = 8;          // of one transaction, 1 to 16: no more than the ring has descriptors
};

struct Moved {
    std::uint64_t bytes_out = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t pieces = 0;
    std::uint64_t pages_out = 0;
    std::uint64_t pages_in = 0;
    // Pages in which both sides changed lines in turn, and none in common: false sharing. Two regions would
    // have moved less.
    std::uint64_t falsely_shared = 0;
};

// A side's tracker of its own changes, where nobody marks them by `touch`: `arm` before the side may write,
// `collect` adds what changed since.
struct NoTracker {
    void arm() noexcept {}
    void collect(Changes& /*changes*/) noexcept {}
    // The side's copy was written by the link.
    void refreshed(const Changes& /*changes*/) noexcept {}
};

// Q: the link's queue, used by this region alone. `own`: room for the host's masks of changes, and `last` for
// those sent last (both of `pages` masks).
template <link::TransferQueue Q, class A = access::Coherent, class Tracker = NoTracker>
class Host : public Side<Host<Q, A, Tracker>, A> {
    using Base = Side<Host, A>;
    friend Base;

  public:
    using Mail = typename Base::Mail;

    // `right`: write where the region begins here; none where this host replaces one that died.
    Host(typename Mail::Shared& out, typename Mail::Shared& in, Q& queue, Places places, Changes own,
         Changes last, Changes peers, Right right = Right::write, Pieces pieces = {},
         Tracker tracker = {}) noexcept
        : Base(out, in, true, right),
          queue_(&queue),
          places_(places),
          own_(own),
          last_(last),
          peers_(peers),
          pieces_(pieces),
          tracker_(tracker) {
        // The content of the peer's copy is not known.
        own_.add_all();
        last_.clear();
    }

    // The host changed these bytes. To be called between `acquire` and `release`.
    void touch(std::uint32_t offset, std::uint32_t bytes) noexcept { own_.touch(offset, bytes); }

    [[nodiscard]] const Moved& moved() const noexcept { return moved_; }

  private:
    static constexpr std::uint32_t largest_batch = 16;
    enum class Stage : std::uint8_t { idle, masks, pages };

    void began(Right use) noexcept {
        if (use == Right::write) {
            tracker_.arm();
        }
    }

    void resend_all() noexcept {
        own_.add_all();
        seen_ = false;
    }
    void stop_handing_over() noexcept {
        if (sending_) {
            // Messages in flight arrive before anything that is posted later; all of it is sent again.
            sending_ = false;
            own_.add_all();
        }
    }

    bool hand_over() noexcept {
        if (!sending_) {
            sending_ = true;
            tracker_.collect(own_);
            begin_moving();
        }
        if (!move(own_, link::Direction::to_peer)) {
            return false;
        }
        sending_ = false;
        count(own_, last_, moved_.pages_out);
        own_.clear();
        return true;
    }

    bool take(const Message& grant) noexcept {
        if (stage_ == Stage::idle) {
            if (grant.changed == 0 || (seen_ && number_ == grant.number)) {
                return true;
            }
            stage_ = Stage::masks;
            begin_moving();
        }
        if (stage_ == Stage::masks) {
            if (!fetch_masks()) {
                return false;
            }
            stage_ = Stage::pages;
            begin_moving();
        }
        if (!move(peers_, link::Direction::from_peer)) {
            return false;
        }
        stage_ = Stage::idle;
        seen_ = true;
        number_ = grant.number;
        count(peers_, last_, moved_.pages_in);
        for (std::uint32_t page = 0; page < own_.pages(); ++page) {
            own_.set(page, own_.mask(page) & ~peers_.mask(page));  // equal on both sides now
        }
        tracker_.refreshed(peers_);
        return true;
    }

    void begin_moving() noexcept {
        at_line_ = 0;
        posted_all_ = false;
    }

    // True when all is there.
    bool fetch_masks() noexcept {
        if (!posted_all_) {
            const link::Piece piece{places_.local_masks, places_.remote_masks,
                                    peers_.pages() * static_cast<std::uint32_t>(sizeof(std::uint64_t))};
            posted_all_ = post(link::Direction::from_peer, &piece, 1);
        }
        return drained();
    }

    // Posts what the ring takes and takes completions. True when all changes are there.
    bool move(const Changes& changes, link::Direction direction) noexcept {
        for (std::uint32_t posted = 0; !posted_all_ && posted < largest_batch; ++posted) {
            link::Piece pieces[largest_batch];
            std::uint32_t count = 0;
            std::uint32_t line = at_line_;
            std::uint64_t bytes = 0;
            while (count < pieces_.batch && count < largest_batch) {
                const Run run = changes.next(line, pieces_.gap, pieces_.most);
                if (run.bytes == 0) {
                    break;
                }
                pieces[count++] = {places_.local + run.offset, places_.remote + run.offset, run.bytes};
                line = (run.offset + run.bytes) / tracked_bytes;
                bytes += run.bytes;
            }
            if (count == 0) {
                posted_all_ = true;
                break;
            }
            if (!post(direction, pieces, count)) {
                break;
            }
            at_line_ = line;
            moved_.pieces += count;
            (direction == link::Direction::to_peer ? moved_.bytes_out : moved_.bytes_in) += bytes;
        }
        return drained();
    }

    bool post(link::Direction direction, const link::Piece* pieces, std::uint32_t count) noexcept {
        const link::Posting posting =
            queue_->try_post(direction, pieces, count, 0, link::Completing::by_status);
        if (posting == link::Posting::refused) {
            this->fail();
        }
        return posting == link::Posting::ok;
    }

    // Takes completions. True when everything was posted and is complete.
    bool drained() noexcept {
        for (;;) {
            link::Completion done{};
            const Status status = queue_->poll(done);
            if (status == Status::ok && done.outcome == link::Outcome::moved) {
                continue;
            }
            if (status != Status::would_block) {
                this->fail();
                return false;
            }
            return posted_all_ && queue_->in_flight() == 0;
        }
    }

    // Counts pages, and those that the other side changed last in other lines.
    void count(const Changes& changes, Changes& last, std::uint64_t& pages) noexcept {
        const bool out = &changes == &own_;
        for (std::uint32_t page = 0; page < changes.pages(); ++page) {
            const std::uint64_t mask = changes.mask(page);
            if (mask == 0) {
                continue;
            }
            pages += 1;
            // `last` holds what the host sent; what it fetched since is compared with it.
            if (out) {
                last.set(page, mask);
            } else if (last.mask(page) != 0) {
                moved_.falsely_shared += (last.mask(page) & mask) == 0 ? 1 : 0;
                last.set(page, 0);
            }
        }
    }

    Q* queue_;
    Places places_;
    Changes own_;    // changed here and not sent
    Changes last_;   // sent last, of pages that the peer did not send back since
    Changes peers_;  // as fetched
    Pieces pieces_;
    Tracker tracker_;
    Moved moved_;
    Stage stage_ = Stage::idle;
    bool sending_ = false;
    bool posted_all_ = false;
    std::uint32_t at_line_ = 0;
    // The peer's set of changes that was fetched last.
    bool seen_ = false;
    std::uint32_t number_ = 0;
};

}  // namespace consort::dsm
