// SPDX-License-Identifier: Apache-2.0
// AXI4 in the simulations: channel formats as consort_remote_pkg.sv packs them, a memory behind the mBlock,
// and a master that checks every answer against what the memory must hold.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "verilated.h"

// As the package is built.
#ifndef ADDR_WIDTH
#define ADDR_WIDTH 40
#endif
#ifndef ID_WIDTH
#define ID_WIDTH 16
#endif
#ifndef OFFSET_WIDTH
#define OFFSET_WIDTH 28
#endif

namespace sim {

constexpr unsigned kAddrWidth = ADDR_WIDTH;
constexpr unsigned kIdWidth = ID_WIDTH;
constexpr unsigned kOffsetWidth = OFFSET_WIDTH;

// xorshift: the same stream on every machine for a seed.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
    std::uint64_t bits() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>((bits() >> 32) % n); }
    // True in `percent` of the cases.
    bool chance(unsigned percent) { return below(100) < percent; }

  private:
    std::uint64_t state_;
};

[[noreturn]] inline void fail(const std::string& what) {
    std::fprintf(stderr, "FAILED: %s\n", what.c_str());
    std::exit(1);
}

template <class Wide>
std::uint64_t get(const Wide& wide, unsigned low, unsigned width) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < width; ++i) {
        const unsigned bit = low + i;
        value |= static_cast<std::uint64_t>((wide[bit / 32] >> (bit % 32)) & 1U) << i;
    }
    return value;
}

template <class Wide>
void put(Wide& wide, unsigned low, unsigned width, std::uint64_t value) {
    while (width > 0) {
        const unsigned shift = low % 32;
        const unsigned now = width < 32 - shift ? width : 32 - shift;
        const std::uint32_t mask = (now == 32 ? ~0U : (1U << now) - 1) << shift;
        wide[low / 32] = (wide[low / 32] & ~mask) | (static_cast<std::uint32_t>(value << shift) & mask);
        value >>= now;
        low += now;
        width -= now;
    }
}

using Data = std::array<std::uint8_t, 16>;

struct Address {
    std::uint64_t addr = 0;
    std::uint16_t id = 0;
    std::uint8_t len = 0;    // beats less one
    std::uint8_t size = 4;   // log2 of the bytes of a beat
    std::uint8_t burst = 1;  // fixed, incr, wrap
    std::uint8_t cache = 3;  // AxCACHE
    bool lock = false;       // exclusive
    std::uint8_t qos = 0;    // AxQOS

    template <class Wide>
    void pack(Wide& wide) const {
        put(wide, 0, 4, qos);
        put(wide, 4, 3, 0);
        put(wide, 7, 4, cache);
        put(wide, 11, 1, lock);
        put(wide, 12, 2, burst);
        put(wide, 14, 3, size);
        put(wide, 17, 8, len);
        put(wide, 25, kIdWidth, id);
        put(wide, 25 + kIdWidth, kAddrWidth, addr);
    }
    template <class Wide>
    static Address unpack(const Wide& wide) {
        return {get(wide, 25 + kIdWidth, kAddrWidth),
                static_cast<std::uint16_t>(get(wide, 25, kIdWidth)),
                static_cast<std::uint8_t>(get(wide, 17, 8)),
                static_cast<std::uint8_t>(get(wide, 14, 3)),
                static_cast<std::uint8_t>(get(wide, 12, 2)),
                static_cast<std::uint8_t>(get(wide, 7, 4)),
                get(wide, 11, 1) != 0,
                static_cast<std::uint8_t>(get(wide, 0, 4))};
    }

    // Address of beat i, as the AXI4 specification computes it.
    [[nodiscard]] std::uint64_t beat(unsigned i) const {
        const std::uint64_t bytes = 1ULL << size;
        const std::uint64_t aligned = addr & ~(bytes - 1);
        if (burst == 0 || i == 0) return addr;
        if (burst == 1) return aligned + i * bytes;
        const std::uint64_t span = bytes * (len + 1U);
        const std::uint64_t base = addr & ~(span - 1);
        return base + ((aligned - base + i * bytes) & (span - 1));
    }
    // Byte lanes that beat i uses: first, and one past the last.
    void lanes(unsigned i, unsigned& first, unsigned& end) const {
        const std::uint64_t at = beat(i);
        first = static_cast<unsigned>(at & 15);
        end = static_cast<unsigned>((at & 15 & ~((1ULL << size) - 1)) + (1ULL << size));
    }
};

template <class Wide>
void put_data(Wide& wide, unsigned low, const Data& data) {
    for (unsigned i = 0; i < 16; ++i) put(wide, low + 8 * i, 8, data[i]);
}
template <class Wide>
Data get_data(const Wide& wide, unsigned low) {
    Data data;
    for (unsigned i = 0; i < 4; ++i) {
        const auto word = static_cast<std::uint32_t>(get(wide, low + 32 * i, 32));
        std::memcpy(&data[4 * i], &word, 4);
    }
    return data;
}

// Bytes of the address space, made as they are touched; what was never written reads as zero.
class Store {
  public:
    std::uint8_t& at(std::uint64_t address) {
        if ((address >> 12) != page_number_ || page_ == nullptr) {
            page_number_ = address >> 12;
            page_ = &pages_[page_number_];
            if (page_->empty()) page_->resize(4096);
        }
        return (*page_)[address & 4095];
    }

  private:
    std::unordered_map<std::uint64_t, std::vector<std::uint8_t>> pages_;
    std::uint64_t page_number_ = 0;
    std::vector<std::uint8_t>* page_ = nullptr;
};

// What of a write a memory takes first, all of which AXI4 allows (A3.3.1).
enum class Order {
    Any,           // either, as it comes
    Together,      // the address only with the first data
    AddressFirst,  // no data before their address
    DataFirst,     // the address after all data
};

struct MemoryBehaviour {
    unsigned latency = 1;  // cycles from the last beat of a request to the first of its answer
    // Up to so many more, drawn for each request: accesses of different ids overtake each other, in what is
    // done as well as in what is answered.
    unsigned spread = 0;
    unsigned pause_percent = 0;  // of cycles in which a channel does nothing
    unsigned rate = 0;           // beats a cycle, reads and writes together, of 65536; 0 is one of each
    std::uint64_t bad_from = 0, bad_to = 0;  // addresses that answer SLVERR
    Order order = Order::Any;
};

// A memory on the mBlock's AXI4 master ports. It holds the signals of a cycle still between edges: call
// `drive` before the rising edge's evaluation and `sample` with the values that were there at the edge.
template <class Top>
class Memory {
  public:
    Memory(Top& top, unsigned port, MemoryBehaviour behaviour, std::uint64_t seed)
        : top_(top), port_(port), behaviour_(behaviour), random_(seed) {}

    Store store;
    std::uint64_t bytes_written = 0, write_bursts = 0, read_bursts = 0, read_beats = 0;
    [[nodiscard]] std::size_t waiting_reads() const { return reads_.size(); }
    [[nodiscard]] std::size_t waiting_acks() const { return acks_.size(); }
    unsigned last_read_cache = 0, last_write_cache = 0;
    std::uint64_t bytes_done = 0;       // written, and to be read by others
    unsigned stray_percent = 0;         // of cycles without an answer: one to an id that asked nothing
    std::uint64_t strays = 0;           // such answers
    bool takes = true, answers = true;  // else it takes no address and no data; shows no new answer

    // Takes what the edge that is about to come transfers, as the signals are now.
    void sample() {
        if (top_.m_aw_valid_o[port_] && top_.m_aw_ready_i[port_]) {
            writes_.push_back(Address::unpack(top_.m_aw_o[port_]));
            last_write_cache = writes_.back().cache;
            ++write_bursts;
        }
        if (top_.m_w_valid_o[port_] && top_.m_w_ready_i[port_]) {
            data_.push_back(top_.m_w_o[port_]);
            bursts_of_data_ += static_cast<unsigned>(get(data_.back(), 0, 1));
            budget_ -= 65536;
        }
        while (!writes_.empty() && !data_.empty()) take_write();
        if (top_.m_ar_valid_o[port_] && top_.m_ar_ready_i[port_]) {
            reads_.push_back({Address::unpack(top_.m_ar_o[port_]), due(), 0});
            last_read_cache = reads_.back().address.cache;
            ++read_bursts;
        }
        if (r_shown_ && top_.m_r_valid_i[port_] && top_.m_r_ready_o[port_]) {
            auto& read = reads_[chosen_];
            ++read_beats;
            budget_ -= 65536;
            if (read.done++ == read.address.len) reads_.erase(reads_.begin() + static_cast<long>(chosen_));
            r_shown_ = false;
        }
        if (b_shown_ && top_.m_b_valid_i[port_] && top_.m_b_ready_o[port_]) {
            acks_.erase(acks_.begin() + static_cast<long>(chosen_ack_));
            b_shown_ = false;
        }
        ++now_;
    }

    // Sets the inputs of the next cycle.
    void drive() {
        const bool takes_address = takes && writes_.size() < 64 && address_may_go() && !pause();
        top_.m_aw_ready_i[port_] = takes_address;
        // What was not used is lost but for a beat of each.
        if (behaviour_.rate != 0) budget_ = std::min<std::int64_t>(budget_ + behaviour_.rate, 2 * 65536);
        const bool serves = behaviour_.rate == 0 || budget_ >= 65536;
        top_.m_w_ready_i[port_] =
            takes && data_.size() < 256 && serves && data_may_go(takes_address) && !pause();
        top_.m_ar_ready_i[port_] = takes && reads_.size() < 64 && !pause();
        if (!r_shown_ && answers && !reads_.empty() && serves && !pause()) {
            // The first that is due and not behind another of its id.
            for (std::size_t i = 0; i < reads_.size() && !r_shown_; ++i) {
                bool behind = false;
                for (std::size_t j = 0; j < i; ++j) behind |= reads_[j].address.id == reads_[i].address.id;
                if (behind || reads_[i].due > now_) continue;
                // Without interleaving: a burst that was begun goes on.
                bool other_begun = false;
                for (std::size_t j = 0; j < reads_.size(); ++j) other_begun |= j != i && reads_[j].done > 0;
                if (other_begun && behaviour_.spread < 1000) continue;
                chosen_ = i;
                r_shown_ = true;
                show_read(reads_[i]);
            }
        }
        top_.m_r_valid_i[port_] = r_shown_ || stray_read();
        if (!b_shown_ && answers && !acks_.empty() && !pause()) {
            for (std::size_t i = 0; i < acks_.size() && !b_shown_; ++i) {
                bool behind = false;
                for (std::size_t j = 0; j < i; ++j) behind |= acks_[j].id == acks_[i].id;
                if (behind || acks_[i].due > now_) continue;
                chosen_ack_ = i;
                b_shown_ = true;
                // A write is done when its answer shows: not before those that overtake it.
                for (const Byte& byte : acks_[i].bytes) store.at(byte.at) = byte.value;
                bytes_done += acks_[i].bytes.size();
                top_.m_b_i[port_] = static_cast<std::uint32_t>(acks_[i].id) << 2 | acks_[i].resp;
            }
        }
        top_.m_b_valid_i[port_] = b_shown_ || stray_ack();
    }

  private:
    struct Read {
        Address address;
        std::uint64_t due;
        unsigned done;
    };
    struct Byte {
        std::uint64_t at;
        std::uint8_t value;
    };
    // A write that has all its data.
    struct Ack {
        std::uint16_t id;
        std::uint8_t resp;
        std::uint64_t due;
        std::vector<Byte> bytes;
    };

    [[nodiscard]] bool address_may_go() const {
        switch (behaviour_.order) {
            case Order::Together:
                return writes_.empty() && top_.m_aw_valid_o[port_] && top_.m_w_valid_o[port_];
            case Order::DataFirst:
                return bursts_of_data_ != 0;
            default:
                return true;
        }
    }
    [[nodiscard]] bool data_may_go(bool takes_address) const {
        switch (behaviour_.order) {
            case Order::Together:
                return takes_address || !writes_.empty();
            case Order::AddressFirst:
                return !writes_.empty();
            case Order::DataFirst:
                return bursts_of_data_ == 0;
            default:
                return true;
        }
    }
    bool pause() { return behaviour_.pause_percent != 0 && random_.chance(behaviour_.pause_percent); }
    std::uint64_t due() {
        // sample() runs before the clock's edge, drive() after it: a latency of one is the next cycle.
        return now_ + behaviour_.latency + (behaviour_.spread != 0 ? random_.below(behaviour_.spread) : 0);
    }
    // An answer to an id of which nothing waits: false where the drawn one has something, or none is due.
    bool stray_read() {
        if (!strays_now()) return false;
        const auto id = static_cast<std::uint16_t>(random_.below(16));
        if (std::ranges::any_of(reads_, [&](const Read& read) { return read.address.id == id; }))
            return false;
        auto& out = top_.m_r_i[port_];
        put(out, 0, 1, random_.below(2));
        put(out, 1, 2, 0);
        put(out, 3, kIdWidth, id);
        put_data(out, 3 + kIdWidth, Data{});
        ++strays;
        return true;
    }
    bool stray_ack() {
        if (!strays_now()) return false;
        const auto id = static_cast<std::uint16_t>(random_.below(16));
        const auto waits = [&](const auto& of) {
            return std::ranges::any_of(of, [&](const auto& one) { return one.id == id; });
        };
        // An address that shows and was not taken is a write, too.
        const bool shows = top_.m_aw_valid_o[port_] && Address::unpack(top_.m_aw_o[port_]).id == id;
        if (waits(acks_) || waits(writes_) || shows) return false;
        top_.m_b_i[port_] = static_cast<std::uint32_t>(id) << 2;
        ++strays;
        return true;
    }
    bool strays_now() { return stray_percent != 0 && random_.chance(stray_percent); }
    [[nodiscard]] bool bad(std::uint64_t address) const {
        return address >= behaviour_.bad_from && address < behaviour_.bad_to;
    }

    void take_write() {
        const Address& address = writes_.front();
        const auto& beat = data_.front();
        const auto strobes = static_cast<unsigned>(get(beat, 1, 16));
        const Data data = get_data(beat, 17);
        const std::uint64_t base = address.beat(written_) & ~15ULL;
        if (bad(address.beat(written_))) resp_ = 2;
        for (unsigned i = 0; i < 16; ++i) {
            if ((strobes >> i & 1) == 0) continue;
            ++bytes_written;
            if (!bad(base + i)) bytes_.push_back({base + i, data[i]});
        }
        const bool last = written_ == address.len;
        if (last != (get(beat, 0, 1) != 0)) fail("WLAST at the memory is not on the last beat of its burst");
        if (last) {
            acks_.push_back({address.id, resp_, due(), std::move(bytes_)});
            bytes_.clear();
            writes_.pop_front();
            --bursts_of_data_;
            written_ = 0;
            resp_ = 0;
        } else {
            ++written_;
        }
        data_.pop_front();
    }

    void show_read(const Read& read) {
        auto& out = top_.m_r_i[port_];
        const std::uint64_t at = read.address.beat(read.done);
        Data data;
        for (unsigned i = 0; i < 16; ++i) data[i] = store.at((at & ~15ULL) + i);
        put(out, 0, 1, read.done == read.address.len);
        put(out, 1, 2, bad(at) ? 2 : 0);
        put(out, 3, kIdWidth, read.address.id);
        put_data(out, 3 + kIdWidth, data);
    }

    Top& top_;
    unsigned port_;
    MemoryBehaviour behaviour_;
    Random random_;
    std::uint64_t now_ = 0;
    std::deque<Address> writes_;
    std::deque<std::decay_t<decltype(std::declval<Top>().m_w_o[0])>> data_;
    std::vector<Read> reads_;
    std::vector<Ack> acks_;
    std::vector<Byte> bytes_;      // of the write whose data come
    unsigned bursts_of_data_ = 0;  // that came whole, and whose address did not
    std::size_t chosen_ = 0, chosen_ack_ = 0;
    bool r_shown_ = false, b_shown_ = false;
    std::int64_t budget_ = 0;
    unsigned written_ = 0;
    std::uint8_t resp_ = 0;
};

struct Done {
    bool write;
    std::uint64_t serial, issued, finished;
    std::uint8_t resp;  // the worst of its beats
};

// A master on one AXI4 slave port: sends what is given to it in order, checks the answers. Reads are compared
// with `expected`, which holds what was written and acknowledged; nothing may be read while a write to it is
// under way.
template <class Top>
class Master {
  public:
    Master(Top& top, unsigned port, unsigned pause_percent, std::uint64_t seed)
        : top_(top), port_(port), pause_percent_(pause_percent), random_(seed) {}

    Store expected;
    std::vector<Done> done;  // since it was last cleared by its user
    bool check_data = true;
    std::uint64_t check_from = 0, check_to = ~0ULL;  // where data of reads are compared
    std::vector<Data>* received = nullptr;           // beats of reads go here as well, where it is set
    std::uint64_t bytes_written = 0, beats = 0;

    std::uint64_t read(const Address& address) {
        reads_.push_back({address, ++serial_, 0, 0, 0});
        return serial_;
    }
    // Random data; strobes all set, or random where `partial`.
    std::uint64_t write(const Address& address, bool partial) {
        writes_.push_back({address, ++serial_, 0, 0, 0});
        for (unsigned i = 0; i <= address.len; ++i) {
            Beat beat;
            unsigned first = 0;
            unsigned end = 0;
            address.lanes(i, first, end);
            for (unsigned k = first; k < end; ++k) {
                if (!partial || random_.chance(70)) beat.strobes |= 1U << k;
            }
            for (auto& byte : beat.data) byte = static_cast<std::uint8_t>(random_.bits() >> 20);
            beat.address = address.beat(i) & ~15ULL;
            beat.last = i == address.len;
            data_.push_back(beat);
        }
        return serial_;
    }
    // Given bytes, from the address on; the burst has to hold exactly these.
    std::uint64_t write(const Address& address, const std::uint8_t* bytes, std::size_t count) {
        writes_.push_back({address, ++serial_, 0, 0, 0});
        for (unsigned i = 0; i <= address.len; ++i) {
            Beat beat;
            unsigned first = 0;
            unsigned end = 0;
            address.lanes(i, first, end);
            for (unsigned k = first; k < end && count > 0; ++k, --count) {
                beat.strobes |= 1U << k;
                beat.data[k] = *bytes++;
            }
            beat.address = address.beat(i) & ~15ULL;
            beat.last = i == address.len;
            data_.push_back(beat);
        }
        return serial_;
    }
    // As a reset: what was under way is not.
    void forget() {
        reads_.clear(), sent_reads_.clear(), writes_.clear(), sent_writes_.clear(), data_.clear(),
            sent_data_.clear();
        ar_shown_ = aw_shown_ = w_shown_ = false;
    }
    [[nodiscard]] std::size_t outstanding() const {
        return reads_.size() + sent_reads_.size() + writes_.size() + sent_writes_.size();
    }
    [[nodiscard]] bool unsent_reads() const { return !reads_.empty(); }
    [[nodiscard]] bool unsent_writes() const { return !writes_.empty(); }

    void sample() {
        if (top_.s_ar_valid_i[port_] && top_.s_ar_ready_o[port_]) {
            sent_reads_.push_back(reads_.front());
            sent_reads_.back().issued = first_shown_r_;
            reads_.pop_front();
            ar_shown_ = false;
        }
        if (top_.s_aw_valid_i[port_] && top_.s_aw_ready_o[port_]) {
            sent_writes_.push_back(writes_.front());
            sent_writes_.back().issued = first_shown_w_;
            writes_.pop_front();
            aw_shown_ = false;
        }
        if (top_.s_w_valid_i[port_] && top_.s_w_ready_o[port_]) {
            const Beat& beat = data_.front();
            sent_data_.push_back(beat);
            data_.pop_front();
            w_shown_ = false;
            ++beats;
        }
        if (top_.s_r_valid_o[port_] && top_.s_r_ready_i[port_]) take_read();
        if (top_.s_b_valid_o[port_] && top_.s_b_ready_i[port_]) take_ack();
        ++now_;
    }

    void drive() {
        if (!ar_shown_ && !reads_.empty() && !pause()) {
            ar_shown_ = true;
            first_shown_r_ = now_;
            reads_.front().address.pack(top_.s_ar_i[port_]);
        }
        top_.s_ar_valid_i[port_] = ar_shown_;
        if (!aw_shown_ && !writes_.empty() && !pause()) {
            aw_shown_ = true;
            first_shown_w_ = now_;
            writes_.front().address.pack(top_.s_aw_i[port_]);
        }
        top_.s_aw_valid_i[port_] = aw_shown_;
        if (!w_shown_ && !data_.empty() && !pause()) {
            w_shown_ = true;
            auto& out = top_.s_w_i[port_];
            put(out, 0, 1, data_.front().last);
            put(out, 1, 16, data_.front().strobes);
            put_data(out, 17, data_.front().data);
        }
        top_.s_w_valid_i[port_] = w_shown_;
        top_.s_r_ready_i[port_] = !pause();
        top_.s_b_ready_i[port_] = !pause();
    }

    [[nodiscard]] std::uint64_t now() const { return now_; }

  private:
    struct Transaction {
        Address address;
        std::uint64_t serial, issued;
        unsigned done;
        std::uint8_t resp;
    };
    struct Beat {
        Data data{};
        unsigned strobes = 0;
        std::uint64_t address = 0;
        bool last = false;
    };

    bool pause() { return pause_percent_ != 0 && random_.chance(pause_percent_); }

    void take_read() {
        const auto& in = top_.s_r_o[port_];
        const auto id = static_cast<std::uint16_t>(get(in, 3, kIdWidth));
        const auto resp = static_cast<std::uint8_t>(get(in, 1, 2));
        ++beats;
        for (std::size_t i = 0; i < sent_reads_.size(); ++i) {
            Transaction& read = sent_reads_[i];
            if (read.address.id != id) continue;
            if (resp > read.resp) read.resp = resp;
            const Data data = get_data(in, 3 + kIdWidth);
            if (received != nullptr) received->push_back(data);
            const bool checked = read.address.addr >= check_from && read.address.addr < check_to;
            if (check_data && checked && resp == 0) {
                unsigned first = 0;
                unsigned end = 0;
                read.address.lanes(read.done, first, end);
                const std::uint64_t base = read.address.beat(read.done) & ~15ULL;
                for (unsigned k = first; k < end; ++k) {
                    if (data[k] != expected.at(base + k)) {
                        char text[160];
                        std::snprintf(
                            text, sizeof text,
                            "cycle %llu: port %u read %02x at %llx, %02x was written (beat %u of %u)",
                            static_cast<unsigned long long>(now_), port_, data[k],
                            static_cast<unsigned long long>(base + k), expected.at(base + k), read.done,
                            read.address.len + 1U);
                        fail(text);
                    }
                }
            }
            const bool last = read.done++ == read.address.len;
            if (last != (get(in, 0, 1) != 0)) fail("RLAST is not on the last beat of its burst");
            if (last) {
                done.push_back({false, read.serial, read.issued, now_, read.resp});
                sent_reads_.erase(sent_reads_.begin() + static_cast<long>(i));
            }
            return;
        }
        fail("read data with an id that nothing outstanding has");
    }

    void take_ack() {
        const std::uint32_t in = top_.s_b_o[port_];
        const auto id = static_cast<std::uint16_t>(in >> 2);
        for (std::size_t i = 0; i < sent_writes_.size(); ++i) {
            Transaction& write = sent_writes_[i];
            if (write.address.id != id) continue;
            write.resp = static_cast<std::uint8_t>(in & 3);
            // Data go in the order of the addresses; writes may end in another.
            std::size_t at = 0;
            for (std::size_t k = 0; k < i; ++k) at += sent_writes_[k].address.len + 1U;
            if (at + write.address.len + 1U > sent_data_.size())
                fail("a write is acknowledged before its data were taken");
            for (unsigned k = 0; k <= write.address.len; ++k) {
                const Beat& beat = sent_data_[at + k];
                for (unsigned b = 0; b < 16; ++b) {
                    if ((beat.strobes >> b & 1) == 0) continue;
                    if (write.resp == 0) {
                        expected.at(beat.address + b) = beat.data[b];
                        ++bytes_written;
                    }
                }
            }
            sent_data_.erase(sent_data_.begin() + static_cast<long>(at),
                             sent_data_.begin() + static_cast<long>(at + write.address.len + 1));
            done.push_back({true, write.serial, write.issued, now_, write.resp});
            sent_writes_.erase(sent_writes_.begin() + static_cast<long>(i));
            return;
        }
        fail("an acknowledgement with an id that nothing outstanding has");
    }

    Top& top_;
    unsigned port_;
    unsigned pause_percent_;
    Random random_;
    std::uint64_t now_ = 0, serial_ = 0, first_shown_r_ = 0, first_shown_w_ = 0;
    std::deque<Transaction> reads_, writes_;
    std::deque<Beat> data_;
    std::vector<Transaction> sent_reads_, sent_writes_;
    std::vector<Beat> sent_data_;
    bool ar_shown_ = false, aw_shown_ = false, w_shown_ = false;
};

}  // namespace sim
