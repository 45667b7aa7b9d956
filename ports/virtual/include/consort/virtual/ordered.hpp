// SPDX-License-Identifier: Apache-2.0
//
// A priority queue of at most one entry for each of the items 0 … n-1, in memory of the caller's.
#pragma once

#include <cstdint>

namespace consort::virtual_time {

// `Key` is ordered by <; of equal keys the smaller item comes first. All operations take at most
// 2 * log2(n) comparisons, so their longest duration is known.
template <class Key>
class Ordered {
  public:
    static constexpr std::uint32_t nowhere = ~std::uint32_t{0};

    // An item's place in the queue; one each.
    struct Cell {
        Key key{};
        std::uint32_t item = 0;         // of the place in the heap
        std::uint32_t place = nowhere;  // of the item
    };

    Ordered() noexcept = default;
    Ordered(Cell* cells, std::uint32_t items) noexcept : cells_(cells), items_(items) { clear(); }

    void clear() noexcept {
        count_ = 0;
        for (std::uint32_t i = 0; i < items_; ++i) {
            cells_[i].place = nowhere;
        }
    }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] bool contains(std::uint32_t item) const noexcept { return cells_[item].place != nowhere; }
    // Only where it is not empty.
    [[nodiscard]] std::uint32_t top() const noexcept { return cells_[0].item; }
    [[nodiscard]] const Key& top_key() const noexcept { return cells_[0].key; }

    // Puts the item in, or moves it.
    void set(std::uint32_t item, const Key& key) noexcept {
        std::uint32_t place = cells_[item].place;
        if (place == nowhere) {
            place = count_++;
        }
        const std::uint32_t risen = rise(place, key, item);
        sink(risen, key, item);
    }
    // Takes the item out, if it is there.
    void remove(std::uint32_t item) noexcept {
        const std::uint32_t place = cells_[item].place;
        if (place == nowhere) {
            return;
        }
        cells_[item].place = nowhere;
        --count_;
        if (place != count_) {
            const Key key = cells_[count_].key;
            const std::uint32_t last = cells_[count_].item;
            sink(rise(place, key, last), key, last);
        }
    }

  private:
    [[nodiscard]] bool before(const Key& a, std::uint32_t x, const Key& b, std::uint32_t y) const noexcept {
        return a < b || (!(b < a) && x < y);
    }
    void put(std::uint32_t place, const Key& key, std::uint32_t item) noexcept {
        cells_[place].key = key;
        cells_[place].item = item;
        cells_[item].place = place;
    }
    std::uint32_t rise(std::uint32_t place, const Key& key, std::uint32_t item) noexcept {
        while (place != 0) {
            const std::uint32_t parent = (place - 1) / 2;
            if (!before(key, item, cells_[parent].key, cells_[parent].item)) {
                break;
            }
            put(place, cells_[parent].key, cells_[parent].item);
            place = parent;
        }
        return place;
    }
    void sink(std::uint32_t place, const Key& key, std::uint32_t item) noexcept {
        for (;;) {
            std::uint32_t child = 2 * place + 1;
            if (child >= count_) {
                break;
            }
            const std::uint32_t other = child + 1;
            if (other < count_ &&
                before(cells_[other].key, cells_[other].item, cells_[child].key, cells_[child].item)) {
                child = other;
            }
            if (!before(cells_[child].key, cells_[child].item, key, item)) {
                break;
            }
            put(place, cells_[child].key, cells_[child].item);
            place = child;
        }
        put(place, key, item);
    }

    Cell* cells_ = nullptr;
    std::uint32_t items_ = 0;
    std::uint32_t count_ = 0;
};

}  // namespace consort::virtual_time
