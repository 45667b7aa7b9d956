// SPDX-License-Identifier: Apache-2.0
// Random bursts of all kinds through a converter between each two unlike data widths, against a model of
// bytes. The memory carries out different ids in any order and puts beats of different reads between one
// another. Prints JSON.
//
// widths_user random SEED ACCESSES | reads BURSTS | writes BURSTS
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "Vtop.h"

namespace {

#ifdef FEW
constexpr unsigned kWhich[] = {0, 3, 5, 10};
#else
constexpr unsigned kWhich[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
#endif
constexpr unsigned kPairs = std::size(kWhich), kPages = 24, kIds = 6;
constexpr std::uint64_t kBase = 0x4'0000'0000;
std::uint64_t now = 0;

[[noreturn]] void fail(unsigned pair, const std::string& what) {
    std::fprintf(stderr, "pair %u, cycle %llu: %s\n", pair, static_cast<unsigned long long>(now),
                 what.c_str());
    std::exit(1);
}

std::mt19937_64 random_bits;
unsigned below(unsigned n) {
    return static_cast<unsigned>(random_bits() % n);
}
bool chance(unsigned percent) {
    return below(100) < percent;
}

enum Burst : unsigned { kFixed, kIncr, kWrap };

struct Access {
    std::uint64_t addr = 0;
    unsigned id = 0, len = 0, size = 0, burst = kIncr, page = 0;
    bool normal = true;

    [[nodiscard]] std::uint64_t beat(unsigned i) const {
        const std::uint64_t bytes = 1ULL << size;
        if (i == 0 || burst == kFixed) return addr;
        const std::uint64_t at = (addr & ~(bytes - 1)) + i * bytes;
        if (burst == kIncr) return at;
        const std::uint64_t span = (len + 1) * bytes, base = addr & ~(span - 1);
        return base + (at - base) % span;
    }
    // One beyond the last byte of a beat.
    [[nodiscard]] std::uint64_t end(unsigned i) const { return (beat(i) | ((1ULL << size) - 1)) + 1; }

    // The fields of axi_a_t, the last one in the lowest bits.
    template <class Wide>
    void pack(Wide& out) const {
        unsigned __int128 v = addr;
        const auto put = [&](std::uint64_t value, unsigned width) { v = v << width | value; };
        put(id, 16);
        put(len, 8);
        put(size, 3);
        put(burst, 2);
        put(0, 1);
        put(normal ? 2 : 0, 4);
        put(0, 7);
        std::memcpy(&out, &v, 12);
    }
    template <class Wide>
    static Access unpack(const Wide& in) {
        unsigned __int128 v = 0;
        std::memcpy(&v, &in, 12);
        const auto get = [&](unsigned at, unsigned width) {
            return static_cast<std::uint64_t>(v >> at) & ((1ULL << width) - 1);
        };
        Access of;
        of.normal = get(8, 1) != 0;
        of.burst = static_cast<unsigned>(get(12, 2));
        of.size = static_cast<unsigned>(get(14, 3));
        of.len = static_cast<unsigned>(get(17, 8));
        of.id = static_cast<unsigned>(get(25, 16));
        of.addr = get(41, 40);
        return of;
    }
};

// Some of the memory's words end with an error and keep nothing: those of a beat of the port may be good and
// bad.
bool bad(std::uint64_t address, unsigned word) {
    return address / word % 97 == 7;
}

struct Bytes {
    std::vector<std::uint8_t> of = std::vector<std::uint8_t>(kPages * 4096);
    std::uint8_t& at(std::uint64_t address) { return of.at(address - kBase); }
};

struct Beat {
    std::uint8_t data[64] = {};
    std::uint64_t strobes = 0;
    bool last = false;
};

struct Policy {
    unsigned pause = 0;       // of a channel, in percent
    bool data_first = false;  // the memory takes an address when it has data of it
    unsigned latency = 0, spread = 1;
};

class Memory {
  public:
    Memory(Vtop& top, unsigned pair, unsigned bytes) : top_(top), pair_(pair), bytes_(bytes) {}
    Bytes store;
    Policy policy;
    std::uint64_t beats = 0;

    void sample() {
        const unsigned k = pair_;
        if (top_.m_aw_valid_o[k] && top_.m_aw_ready_i[k]) writes_.push_back(Access::unpack(top_.m_aw_o[k]));
        if (top_.m_w_valid_o[k] && top_.m_w_ready_i[k]) {
            Beat beat;
            std::memcpy(beat.data, &top_.m_w_data_o[k], 64);
            beat.strobes = top_.m_w_strb_o[k];
            beat.last = top_.m_w_last_o[k];
            data_.push_back(beat);
            ++beats;
        }
        while (!writes_.empty() && !data_.empty()) take();
        if (top_.m_ar_valid_o[k] && top_.m_ar_ready_i[k])
            reads_.push_back({Access::unpack(top_.m_ar_o[k]), due(), 0});
        if (top_.m_r_valid_i[k] && top_.m_r_ready_o[k]) {
            ++beats;
            if (reads_[chosen_].done++ == reads_[chosen_].of.len) reads_.erase(reads_.begin() + chosen_);
            r_shown_ = false;
        }
        if (top_.m_b_valid_i[k] && top_.m_b_ready_o[k]) {
            acks_.erase(acks_.begin() + chosen_ack_);
            b_shown_ = false;
        }
    }

    void drive() {
        const unsigned k = pair_;
        top_.m_aw_ready_i[k] =
            writes_.size() < 8 && !chance(policy.pause) &&
            (!policy.data_first || !data_.empty() || (top_.m_w_valid_o[k] && data_.size() < 64));
        top_.m_w_ready_i[k] = data_.size() < 64 && !chance(policy.pause);
        top_.m_ar_ready_i[k] = reads_.size() < 32 && !chance(policy.pause);
        if (!r_shown_ && !reads_.empty() && !chance(policy.pause)) {
            const std::size_t from = policy.spread > 1 ? below(static_cast<unsigned>(reads_.size())) : 0;
            for (std::size_t n = 0; n < reads_.size() && !r_shown_; ++n) {
                const std::size_t i = (from + n) % reads_.size();
                bool first = reads_[i].due <= now;
                for (std::size_t j = 0; j < i; ++j) first &= reads_[j].of.id != reads_[i].of.id;
                if (first) show(i);
            }
        }
        top_.m_r_valid_i[k] = r_shown_;
        if (!b_shown_ && !acks_.empty() && !chance(policy.pause)) {
            const std::size_t from = policy.spread > 1 ? below(static_cast<unsigned>(acks_.size())) : 0;
            for (std::size_t n = 0; n < acks_.size() && !b_shown_; ++n) {
                const std::size_t i = (from + n) % acks_.size();
                bool first = acks_[i].due <= now;
                for (std::size_t j = 0; j < i; ++j) first &= acks_[j].id != acks_[i].id;
                if (!first) continue;
                b_shown_ = true;
                chosen_ack_ = static_cast<long>(i);
                // A write is done when its answer shows: not before those that overtake it.
                for (const auto& [at, value] : acks_[i].bytes) store.at(at) = value;
                top_.m_b_i[k] = acks_[i].id << 2 | acks_[i].resp;
            }
        }
        top_.m_b_valid_i[k] = b_shown_;
    }

  private:
    struct Read {
        Access of;
        std::uint64_t due;
        unsigned done;
    };
    struct Ack {
        unsigned id, resp;
        std::uint64_t due;
        std::vector<std::pair<std::uint64_t, std::uint8_t>> bytes;
    };
    std::uint64_t due() const { return now + policy.latency + below(policy.spread); }

    void show(std::size_t i) {
        r_shown_ = true;
        chosen_ = static_cast<long>(i);
        const Read& read = reads_[i];
        const std::uint64_t at = read.of.beat(read.done), base = at & ~(bytes_ - 1ULL);
        std::uint8_t data[64];
        // Bytes beside the beat are nobody's.
        for (auto& byte : data) byte = static_cast<std::uint8_t>(random_bits());
        for (std::uint64_t a = at; a < read.of.end(read.done); ++a) data[a - base] = store.at(a);
        std::memcpy(&top_.m_r_data_i[pair_], data, 64);
        top_.m_r_last_i[pair_] = read.done == read.of.len;
        top_.m_r_i[pair_] = read.of.id << 2 | (bad(at, bytes_) ? 2 : 0);
    }
    void take() {
        const Access& of = writes_.front();
        const std::uint64_t at = of.beat(taken_), base = at & ~(bytes_ - 1ULL);
        if (bad(at, bytes_)) resp_ = 2;
        for (unsigned i = 0; i < bytes_; ++i)
            if (data_.front().strobes >> i & 1 && !bad(at, bytes_))
                pending_.emplace_back(base + i, data_.front().data[i]);
        if (taken_++ == of.len) {
            if (!data_.front().last) fail(pair_, "WLAST is missing");
            acks_.push_back({of.id, resp_, due(), std::move(pending_)});
            pending_.clear();
            taken_ = resp_ = 0;
            writes_.pop_front();
        }
        data_.pop_front();
    }

    Vtop& top_;
    unsigned pair_, bytes_;
    std::deque<Access> writes_;
    std::deque<Beat> data_;
    std::vector<Read> reads_;
    std::vector<Ack> acks_;
    std::vector<std::pair<std::uint64_t, std::uint8_t>> pending_;
    long chosen_ = 0, chosen_ack_ = 0;
    bool r_shown_ = false, b_shown_ = false;
    unsigned taken_ = 0, resp_ = 0;
};

class Master {
  public:
    Master(Vtop& top, unsigned pair, unsigned bytes, unsigned word)
        : top_(top), pair_(pair), bytes_(bytes), word_(word) {
        while (1U << most_ < bytes) ++most_;
    }
    Bytes expected;
    Policy policy;
    std::uint64_t finished = 0, errors = 0, beats = 0, bursts[3] = {};
    std::vector<std::uint64_t> sizes = std::vector<std::uint64_t>(7);

    // A page has one id, and reads or writes under way: AXI4 orders those of one id and kind.
    void add() {
        const unsigned page = below(kPages);
        const bool write = chance(50);
        if ((write ? reading_ : writing_)[page] != 0) return;
        Access of;
        of.page = page;
        of.id = 0x1230 + page % kIds;
        of.normal = chance(70);
        of.size = chance(50) ? most_ : below(most_ + 1);
        const unsigned kind = below(10);
        of.burst = kind < 6 ? kIncr : kind < 8 ? kFixed : kWrap;
        const std::uint64_t start = kBase + page * 4096ULL;
        if (of.burst == kIncr) {
            of.addr = start + below(4096);
            if (chance(40)) of.addr &= ~((1ULL << of.size) - 1);
            const auto room =
                static_cast<unsigned>((start + 4096 - of.addr + (1U << of.size) - 1) >> of.size);
            const unsigned most = std::min(256U, std::max(1U, room));
            of.len = (chance(30) ? most : 1 + below(std::min(most, 12U))) - 1;
            while (of.end(of.len) > start + 4096) --of.len;
        } else if (of.burst == kFixed) {
            of.addr = start + below(4096);
            of.len = below(16);
        } else {
            of.len = (2U << below(4)) - 1;
            of.addr = start + (below(4096) & ~((1U << of.size) - 1));
        }
        issue(of, write);
    }
    void issue(const Access& of, bool write) {
        ++bursts[of.burst];
        ++sizes[of.size];
        if (!write) {
            ++reading_[of.page];
            reads_.push_back({of, 0});
            return;
        }
        ++writing_[of.page];
        writes_.push_back(of);
        for (unsigned i = 0; i <= of.len; ++i) {
            Beat beat;
            const std::uint64_t base = of.beat(i) & ~(bytes_ - 1ULL);
            for (auto& byte : beat.data) byte = static_cast<std::uint8_t>(random_bits());
            const bool all = chance(70);
            for (std::uint64_t a = of.beat(i); a < of.end(i); ++a) {
                if (!all && chance(30)) continue;
                beat.strobes |= 1ULL << (a - base);
                if (!bad(a, word_)) expected.at(a) = beat.data[a - base];
            }
            beat.last = i == of.len;
            data_.push_back(beat);
        }
    }
    [[nodiscard]] std::size_t outstanding() const {
        return reads_.size() + sent_reads_.size() + writes_.size() + sent_writes_.size();
    }

    void sample() {
        const unsigned k = pair_;
        if (top_.s_ar_valid_i[k] && top_.s_ar_ready_o[k]) {
            sent_reads_.push_back(reads_.front());
            reads_.pop_front();
            ar_shown_ = false;
        }
        if (top_.s_aw_valid_i[k] && top_.s_aw_ready_o[k]) {
            sent_writes_.push_back(writes_.front());
            writes_.pop_front();
            aw_shown_ = false;
        }
        if (top_.s_w_valid_i[k] && top_.s_w_ready_o[k]) {
            data_.pop_front();
            w_shown_ = false;
            ++beats;
        }
        if (top_.s_r_valid_o[k] && top_.s_r_ready_i[k]) take_read();
        if (top_.s_b_valid_o[k] && top_.s_b_ready_i[k]) take_answer();
    }
    void drive() {
        const unsigned k = pair_;
        if (!ar_shown_ && !reads_.empty() && !chance(policy.pause)) {
            ar_shown_ = true;
            reads_.front().of.pack(top_.s_ar_i[k]);
        }
        top_.s_ar_valid_i[k] = ar_shown_;
        if (!aw_shown_ && !writes_.empty() && !chance(policy.pause)) {
            aw_shown_ = true;
            writes_.front().pack(top_.s_aw_i[k]);
        }
        top_.s_aw_valid_i[k] = aw_shown_;
        if (!w_shown_ && !data_.empty() && !chance(policy.pause)) {
            w_shown_ = true;
            std::memcpy(&top_.s_w_data_i[k], data_.front().data, 64);
            top_.s_w_strb_i[k] = data_.front().strobes;
            top_.s_w_last_i[k] = data_.front().last;
        }
        top_.s_w_valid_i[k] = w_shown_;
        top_.s_r_ready_i[k] = !chance(policy.pause);
        top_.s_b_ready_i[k] = !chance(policy.pause);
    }

  private:
    struct Read {
        Access of;
        unsigned done;
    };
    [[nodiscard]] bool ends_badly(const Access& of, unsigned beat) const {
        bool found = false;
        for (std::uint64_t a = of.beat(beat); a < of.end(beat); ++a) found |= bad(a, word_);
        return found;
    }
    void take_read() {
        const unsigned in = top_.s_r_o[pair_];
        ++beats;
        for (auto read = sent_reads_.begin(); read != sent_reads_.end(); ++read) {
            if (read->of.id != in >> 2) continue;
            const std::uint64_t at = read->of.beat(read->done), base = at & ~(bytes_ - 1ULL);
            std::uint8_t data[64];
            std::memcpy(data, &top_.s_r_data_o[pair_], 64);
            const bool wrong = ends_badly(read->of, read->done);
            if ((in & 3) != (wrong ? 2U : 0U)) fail(pair_, "the wrong answer of a beat of a read");
            errors += wrong;
            for (std::uint64_t a = at; a < read->of.end(read->done) && !wrong; ++a)
                if (data[a - base] != expected.at(a))
                    fail(pair_, "a byte that was read is not what was written");
            const bool last = read->done++ == read->of.len;
            if (last != static_cast<bool>(top_.s_r_last_o[pair_]))
                fail(pair_, "RLAST is not on the last beat");
            if (last) {
                --reading_[read->of.page];
                sent_reads_.erase(read);
                ++finished;
            }
            return;
        }
        fail(pair_, "data of no read");
    }
    void take_answer() {
        const unsigned in = top_.s_b_o[pair_];
        for (auto write = sent_writes_.begin(); write != sent_writes_.end(); ++write) {
            if (write->id != in >> 2) continue;
            bool wrong = false;
            for (unsigned i = 0; i <= write->len; ++i) wrong |= ends_badly(*write, i);
            if ((in & 3) != (wrong ? 2U : 0U)) fail(pair_, "the wrong answer of a write");
            errors += wrong;
            --writing_[write->page];
            sent_writes_.erase(write);
            ++finished;
            return;
        }
        fail(pair_, "an answer of no write");
    }

    Vtop& top_;
    unsigned pair_, bytes_, word_, most_ = 0;
    unsigned reading_[kPages] = {}, writing_[kPages] = {};
    std::deque<Read> reads_;
    std::deque<Read> sent_reads_;
    std::deque<Access> writes_, sent_writes_;
    std::deque<Beat> data_;
    bool ar_shown_ = false, aw_shown_ = false, w_shown_ = false;
};

unsigned slave_bytes(unsigned k) {
    return 8U << kWhich[k] / 3;
}
unsigned master_bytes(unsigned k) {
    const unsigned pair = kWhich[k];
    return 8U << (pair % 3 + (pair % 3 >= pair / 3));
}

class World {
  public:
    World() : top_(std::make_unique<Vtop>(&context_)) {
        for (unsigned k = 0; k < kPairs; ++k) {
            memories.emplace_back(*top_, k, master_bytes(k));
            masters.emplace_back(*top_, k, slave_bytes(k), master_bytes(k));
        }
        top_->clk_i = 0;
        top_->rst_ni = 0;
        cycle();
        cycle();
        top_->rst_ni = 1;
        cycle();
    }
    void cycle() {
        top_->eval();
        if (top_->rst_ni) {
            for (auto& memory : memories) memory.drive();
            for (auto& master : masters) master.drive();
            top_->eval();
            for (auto& memory : memories) memory.sample();
            for (auto& master : masters) master.sample();
        }
        top_->clk_i = 1;
        top_->eval();
        top_->clk_i = 0;
        ++now;
    }
    void set(const Policy& policy) {
        for (auto& memory : memories) memory.policy = policy;
        for (auto& master : masters) master.policy = policy;
    }
    void rest() {
        for (unsigned waited = 0; waited < 1'000'000; ++waited) {
            bool busy = false;
            for (auto& master : masters) busy |= master.outstanding() != 0;
            if (!busy) return;
            cycle();
        }
        for (unsigned k = 0; k < kPairs; ++k)
            if (masters[k].outstanding() != 0) fail(k, "an access does not end");
    }
    std::deque<Memory> memories;
    std::deque<Master> masters;

  private:
    VerilatedContext context_;
    std::unique_ptr<Vtop> top_;
};

void random_traffic(World& world, unsigned accesses) {
    const Policy policies[] = {{.pause = 0, .latency = 4, .spread = 30},
                               {.pause = 30, .latency = 1, .spread = 60},
                               {.pause = 0, .data_first = true, .latency = 20, .spread = 20},
                               {.pause = 60, .data_first = true, .latency = 1, .spread = 10}};
    for (const Policy& policy : policies) {
        world.set(policy);
        std::vector<std::uint64_t> until;
        for (auto& master : world.masters) until.push_back(master.finished + accesses / 4);
        for (bool busy = true; busy;) {
            busy = false;
            for (unsigned k = 0; k < kPairs; ++k) {
                auto& master = world.masters[k];
                if (master.finished >= until[k]) continue;
                busy = true;
                for (unsigned i = 0; i < 4 && master.outstanding() < 48; ++i) master.add();
            }
            world.cycle();
        }
        world.rest();
    }
    std::printf("[");
    for (unsigned k = 0; k < kPairs; ++k) {
        const auto& master = world.masters[k];
        for (std::uint64_t at = kBase; at < kBase + kPages * 4096; ++at)
            if (world.masters[k].expected.at(at) != world.memories[k].store.at(at))
                fail(k, "a byte of the memory is not what was written");
        std::printf(
            "%s{\"slave\": %u, \"master\": %u, \"finished\": %llu, \"errors\": %llu, \"bursts\": [%llu, "
            "%llu, %llu], "
            "\"sizes\": [",
            k ? ",\n" : "", slave_bytes(k) * 8, master_bytes(k) * 8,
            static_cast<unsigned long long>(master.finished), static_cast<unsigned long long>(master.errors),
            static_cast<unsigned long long>(master.bursts[0]),
            static_cast<unsigned long long>(master.bursts[1]),
            static_cast<unsigned long long>(master.bursts[2]));
        for (unsigned i = 0; i < 7; ++i)
            std::printf("%s%llu", i ? ", " : "", static_cast<unsigned long long>(master.sizes[i]));
        std::printf("]}");
    }
    std::printf("]\n");
}

// Bursts of whole words of 1 KiB, as many as fit: beats of the narrower bus a cycle.
void rate(World& world, unsigned bursts, bool write) {
    world.set({.latency = 10});
    std::vector<std::uint64_t> ended(kPairs);
    std::vector<unsigned> issued(kPairs);
    const std::uint64_t start = now;
    for (bool busy = true; busy;) {
        busy = false;
        for (unsigned k = 0; k < kPairs; ++k) {
            auto& master = world.masters[k];
            if (issued[k] == bursts && master.outstanding() == 0) {
                if (ended[k] == 0) ended[k] = now;
                continue;
            }
            busy = true;
            while (issued[k] < bursts && master.outstanding() < 16) {
                unsigned size = 0;
                while (1U << size < slave_bytes(k)) ++size;
                Access of{.addr = kBase + issued[k] % (kPages * 4) * 1024ULL,
                          .id = issued[k] % kIds,
                          .len = 1024 / slave_bytes(k) - 1,
                          .size = size};
                of.page = issued[k] % (kPages * 4) / 4;
                master.issue(of, write);
                ++issued[k];
            }
        }
        world.cycle();
    }
    std::printf("[");
    for (unsigned k = 0; k < kPairs; ++k)
        std::printf(
            "%s{\"slave\": %u, \"master\": %u, \"beats\": %u, \"cycles\": %llu, \"memory_beats\": %llu}",
            k ? ",\n" : "", slave_bytes(k) * 8, master_bytes(k) * 8,
            bursts * 1024 / std::min(slave_bytes(k), master_bytes(k)),
            static_cast<unsigned long long>(ended[k] - start),
            static_cast<unsigned long long>(world.memories[k].beats));
    std::printf("]\n");
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 2 ? argv[1] : "";
    const auto number = static_cast<unsigned>(argc > 2 ? std::atoi(argv[2]) : 0);
    World world;
    if (what == "random" && argc > 3) {
        random_bits.seed(number);
        random_traffic(world, static_cast<unsigned>(std::atoi(argv[3])));
    } else if (what == "reads" || what == "writes") {
        rate(world, number, what == "writes");
    } else {
        std::fprintf(stderr, "widths_user random SEED ACCESSES | reads BURSTS | writes BURSTS\n");
        return 2;
    }
    return 0;
}
