// SPDX-License-Identifier: Apache-2.0
//
// One segment on several servers: pieces of `stripe_pages` pages go to them in turn.
#include <cstring>

#include "transport.hpp"

namespace consort::remote {

namespace {

class Striped final : public Transport {
  public:
    explicit Striped(std::vector<std::unique_ptr<Transport>> parts) : parts_(std::move(parts)) {}

    Outcome fetch(const Run& run, std::byte* bounce, Fetched& found) noexcept override {
        for (std::uint32_t done = 0; done < run.count;) {
            std::uint32_t count = 1;
            while (done + count < run.count &&
                   run.page(done + count) / stripe_pages == run.page(done) / stripe_pages) {
                ++count;
            }
            Fetched piece{};
            const Outcome outcome =
                part_of(run.page(done))
                    .fetch({local(run.page(done)), count, run.stride}, bounce + done * page_bytes, piece);
            if (outcome != Outcome::good) {
                last_ = index(run.page(done));
                return outcome;
            }
            if (count == run.count) {
                found = piece;
                return outcome;
            }
            for (std::uint32_t i = 0; i < count; ++i) {
                const std::byte* from = piece.data + i * piece.step;
                std::byte* to = bounce + (done + i) * page_bytes;
                if (from != to) {
                    std::memcpy(to, from, page_bytes);
                }
            }
            done += count;
        }
        found = {bounce, static_cast<std::ptrdiff_t>(page_bytes)};
        return Outcome::good;
    }

    Outcome fetch_elsewhere(std::uint32_t page, std::uint32_t attempt, std::byte* bounce,
                            Fetched& found) noexcept override {
        return part_of(page).fetch_elsewhere(local(page), attempt, bounce, found);
    }

    Outcome store(StoredPage* pages, const std::byte* const* sources, std::uint32_t count) noexcept override {
        for (std::size_t part = 0; part < parts_.size(); ++part) {
            std::array<StoredPage, most_pages> some{};
            std::array<const std::byte*, most_pages> from{};
            std::array<std::uint32_t, most_pages> which{};
            std::uint32_t used = 0;
            for (std::uint32_t i = 0; i < count; ++i) {
                if (index(pages[i].page) == part) {
                    some[used] = {local(pages[i].page), 0};
                    from[used] = sources[i];
                    which[used++] = i;
                }
            }
            if (used == 0) {
                continue;
            }
            if (const Outcome outcome = parts_[part]->store(some.data(), from.data(), used);
                outcome != Outcome::good) {
                last_ = part;
                return outcome;
            }
            for (std::uint32_t i = 0; i < used; ++i) {
                pages[which[i]].crc = some[i].crc;
            }
        }
        return Outcome::good;
    }

    [[nodiscard]] bool serial() const noexcept override { return true; }
    [[nodiscard]] Refusal refusal() const noexcept override { return parts_[last_]->refusal(); }
    void count(Counters& counters) const noexcept override {
        for (const auto& each : parts_) {
            each->count(counters);
        }
    }
    void give_up() noexcept override {
        for (const auto& each : parts_) {
            each->give_up();
        }
    }

  private:
    [[nodiscard]] std::size_t index(std::uint32_t page) const noexcept {
        return page / stripe_pages % parts_.size();
    }
    [[nodiscard]] std::uint32_t local(std::uint32_t page) const noexcept {
        const auto parts = static_cast<std::uint32_t>(parts_.size());
        return page / stripe_pages / parts * stripe_pages + page % stripe_pages;
    }
    Transport& part_of(std::uint32_t page) noexcept { return *parts_[index(page)]; }

    std::vector<std::unique_ptr<Transport>> parts_;
    std::atomic<std::size_t> last_{0};  // whose request failed
};

}  // namespace

std::unique_ptr<Transport> striped(std::vector<std::unique_ptr<Transport>> parts) {
    return std::make_unique<Striped>(std::move(parts));
}

}  // namespace consort::remote
