// SPDX-License-Identifier: Apache-2.0
//
// The same pages on several servers. A store is done when each server that still counts has acknowledged it;
// one that fails, after all that its own connection tried, counts no more: it may lack the newest pages, so
// nothing is read from it again, whatever becomes of it.
#include <stdexcept>

#include "transport.hpp"

namespace consort::remote {

namespace {

constexpr std::size_t most_replicas = 8;

class Replicated final : public Transport {
  public:
    Replicated(std::vector<std::unique_ptr<Home>> homes, std::vector<std::string> names)
        : homes_(std::move(homes)), names_(std::move(names)), staging_(new Staging) {
        if (homes_.size() > most_replicas) {
            throw std::invalid_argument("at most 8 replicas");
        }
    }

    Outcome fetch(const Run& run, std::byte* bounce, Fetched& found) noexcept override {
        Outcome outcome = Outcome::closed;
        for (std::size_t i = 0; i < homes_.size(); ++i) {
            if (counts(i)) {
                outcome = homes_[i]->fetch(run, bounce, found);
                if (outcome == Outcome::good) {
                    return outcome;
                }
                lose(i, outcome);
            }
        }
        return outcome;
    }

    // A page that one server has wrong the others may have right.
    Outcome fetch_elsewhere(std::uint32_t page, std::uint32_t attempt, std::byte* bounce,
                            Fetched& found) noexcept override {
        std::uint32_t skipped = 0;
        for (std::size_t i = 0; i < homes_.size(); ++i) {
            if (counts(i) && skipped++ == attempt) {
                const Outcome outcome = homes_[i]->fetch({page, 1}, bounce, found);
                if (outcome != Outcome::good) {
                    lose(i, outcome);
                }
                return outcome;
            }
        }
        return Outcome::corrupted;
    }

    Outcome store(StoredPage* pages, const std::byte* const* sources, std::uint32_t count) noexcept override {
        staging_->take(pages, sources, count);
        std::array<bool, most_replicas> asked{};
        for (std::size_t i = 0; i < homes_.size(); ++i) {
            if (counts(i)) {
                asked[i] = true;
                homes_[i]->begin_store(pages, staging_->bytes(), count);
            }
        }
        Outcome failure = Outcome::closed;
        bool stored = false;
        for (std::size_t i = 0; i < homes_.size(); ++i) {
            if (asked[i]) {
                const Outcome outcome = homes_[i]->end_store();
                if (outcome == Outcome::good) {
                    stored = stored || counts(i);
                } else {
                    failure = outcome;
                    lose(i, outcome);
                }
            }
        }
        return stored ? Outcome::good : failure;
    }

    [[nodiscard]] bool serial() const noexcept override { return true; }
    [[nodiscard]] Refusal refusal() const noexcept override {
        return homes_[last_lost_.load(std::memory_order_relaxed)]->refusal();
    }
    void count(Counters& counters) const noexcept override {
        for (const auto& each : homes_) {
            each->count(counters);
        }
        for (std::size_t i = 0; i < homes_.size(); ++i) {
            counters.replicas_lost += counts(i) ? 0 : 1;
        }
    }
    void give_up() noexcept override {
        for (const auto& each : homes_) {
            each->give_up();
        }
    }

  private:
    [[nodiscard]] bool counts(std::size_t i) const noexcept {
        return !lost_[i].load(std::memory_order_acquire);
    }
    void lose(std::size_t i, Outcome why) noexcept {
        last_lost_.store(i, std::memory_order_relaxed);
        if (!lost_[i].exchange(true, std::memory_order_acq_rel)) {
            say({"consort remote: server ", names_[i].c_str(), " is lost: ", describe(why),
                 why == Outcome::refused ? ": " : "",
                 why == Outcome::refused ? describe(homes_[i]->refusal()) : "", "\n"});
        }
    }

    std::vector<std::unique_ptr<Home>> homes_;
    std::vector<std::string> names_;
    std::array<std::atomic<bool>, most_replicas> lost_{};
    std::atomic<std::size_t> last_lost_{0};
    std::unique_ptr<Staging> staging_;
};

}  // namespace

std::unique_ptr<Transport> replicated(std::vector<std::unique_ptr<Home>> homes,
                                      std::vector<std::string> names) {
    return std::make_unique<Replicated>(std::move(homes), std::move(names));
}

}  // namespace consort::remote
