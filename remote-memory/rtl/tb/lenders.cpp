// SPDX-License-Identifier: Apache-2.0
// A bad lender at link 1 of a cBlock, beside an honest one at link 0: it answers what it was not asked, more
// or less than it was asked, or not at all. What goes over link 0 must be right, and every access must end.
// Prints JSON.
#include <map>
#include <memory>

#include "Vtop.h"
#include "axi.hpp"
#include "lite.hpp"

namespace {

using sim::Address;
using sim::Data;
using sim::Done;
using sim::Random;

constexpr std::uint64_t kAt[] = {0x4'0000'0000, 0x4'1000'0000};  // windows of the links
constexpr unsigned kAnswerAfter = 3000;
enum Kind : unsigned { kNone, kData, kAck, kError };

struct Part {
    unsigned kind = kNone, tag = 0, resp = 0, len = 0;

    [[nodiscard]] std::uint64_t bits() const { return kind | tag << 2 | resp << 10 | len << 12; }
};

struct Frame {
    Part parts[2];
    std::vector<unsigned> acks;  // tags
    std::vector<Data> units;
};

// A request that came alone in its frame.
struct Request {
    unsigned op, tag, len;
    std::uint64_t offset;
};

Data of(std::uint64_t offset, std::uint8_t salt = 0) {
    Data data;
    for (unsigned i = 0; i < 16; ++i)
        data[i] = static_cast<std::uint8_t>((offset >> 4) * 29 + i * 7 + salt + 1);
    return data;
}

class World {
  private:
    auto lite() {
        return sim::LiteMaster(
            top_->c_lite_req_i, top_->c_lite_resp_o, [this] { top_->eval(); }, [this] { cycle(); });
    }

  public:
    explicit World(std::uint64_t seed)
        : random(seed), top_(std::make_unique<Vtop>(&context_)), master(*top_, 0, 0, seed) {
        master.check_data = false;
        master.received = &received;
        top_->rst_ni = 0;
        cycle();
        cycle();
        top_->rst_ni = 1;
        write(0x014, 2048);
        write(0x024, kAnswerAfter);
        for (unsigned l = 0; l < 2; ++l) {
            write(0x400 + 0x20 * l, static_cast<std::uint32_t>(kAt[l] >> 12));
            write(0x404 + 0x20 * l, static_cast<std::uint32_t>((kAt[l] >> 12) + 0xFF));
            write(0x408 + 0x20 * l, 7 | l << 3);
        }
        write(0x008, 3);
        wait_up();
    }
    void wait_up() {
        for (unsigned waited = 0; (read(0x00C) & 3) != 3 || !top_->up_o[0] || !top_->up_o[1]; ++waited) {
            if (waited > 100'000) sim::fail("the links do not come up");
            cycle();
        }
    }
    [[nodiscard]] bool up(unsigned link) { return (read(0x00C) >> link & 1) != 0; }

    void send(unsigned link, Frame frame) { sources_[link].frames.push_back(std::move(frame)); }
    [[nodiscard]] bool hears(unsigned link) const { return top_->up_o[link] != 0; }
    [[nodiscard]] std::size_t waiting(unsigned link) const { return sources_[link].frames.size(); }
    void forget(unsigned link) { sources_[link].frames.clear(), requests[link].clear(); }
    void data(unsigned link, unsigned tag, std::uint64_t offset, unsigned beats, std::uint8_t salt = 0,
              unsigned resp = 0) {
        Frame frame{{{kData, tag, resp, beats - 1}, {}}, {}, {}};
        for (unsigned i = 0; i < beats; ++i) frame.units.push_back(of(offset + 16ULL * i, salt));
        send(link, std::move(frame));
    }
    void ack(unsigned link, unsigned tag) { send(link, {{}, {tag}, {}}); }

    void cycle() {
        master.drive();
        if (!takes) top_->s_r_ready_i[0] = 0;
        for (unsigned l = 0; l < 2; ++l) drive(l);
        top_->eval();
        master.sample();
        for (unsigned l = 0; l < 2; ++l) sample(l);
        top_->clk_i = 1;
        top_->eval();
        top_->clk_i = 0;
        top_->eval();
        ++now;
    }
    void cycles(unsigned count) {
        while (count-- > 0) cycle();
    }
    // The next request that came over a link.
    Request asked(unsigned link) {
        for (unsigned waited = 0; requests[link].empty(); ++waited) {
            if (waited > 10'000) sim::fail("no request comes");
            cycle();
        }
        const Request request = requests[link].front();
        requests[link].pop_front();
        return request;
    }
    Done ended(unsigned limit = 10'000) {
        for (unsigned waited = 0; master.done.empty(); ++waited) {
            if (waited > limit) sim::fail("an access does not end");
            cycle();
        }
        const Done done = master.done.front();
        master.done.erase(master.done.begin());
        return done;
    }

    void write(std::uint32_t at, std::uint32_t value) {
        if (!lite().write(at, value)) sim::fail("a register cannot be written");
    }
    std::uint32_t read(std::uint32_t at) {
        std::uint32_t value = 0;
        if (!lite().read(at, value)) sim::fail("a register cannot be read");
        return value;
    }

    Random random;
    std::vector<Data> received;
    std::deque<Request> requests[2];
    std::uint64_t now = 0;
    bool takes = true;  // the master takes data of reads

  private:
    struct Source {
        std::deque<Frame> frames;
        std::deque<Data> units;  // of the frame that was taken
    };
    void drive(unsigned l) {
        Source& source = sources_[l];
        const bool shows = source.units.empty() && !source.frames.empty();
        top_->tx_valid_i[l] = shows;
        if (shows) {
            const Frame& frame = source.frames.front();
            auto& meta = top_->tx_meta_i[l];
            sim::put(meta, 0, 17, frame.parts[0].bits());
            sim::put(meta, 17, 17, frame.parts[1].bits());
            for (unsigned i = 0; i < 3; ++i)
                sim::put(meta, 34 + 11 * i, 11, i < frame.acks.size() ? 1 | frame.acks[i] << 1 : 0);
            sim::put(meta, 67, 5, 0);
            top_->tx_units_i[l] = static_cast<std::uint8_t>(frame.units.size());
            if (!frame.units.empty()) sim::put_data(top_->tx_unit_i[l], 0, frame.units.front());
        } else if (!source.units.empty()) {
            sim::put_data(top_->tx_unit_i[l], 0, source.units.front());
        }
    }
    void sample(unsigned l) {
        Source& source = sources_[l];
        if (top_->tx_valid_i[l] && top_->tx_ready_o[l]) {
            auto& units = source.frames.front().units;
            source.units.assign(units.begin(), units.end());
            source.frames.pop_front();
        }
        if (top_->tx_unit_ready_o[l] && !source.units.empty()) source.units.pop_front();
        if (!top_->up_o[l]) source.units.clear();
        if (top_->rx_valid_o[l]) {
            const auto& meta = top_->rx_meta_o[l];
            requests[l].push_back({static_cast<unsigned>(sim::get(meta, 0, 2)),
                                   static_cast<unsigned>(sim::get(meta, 2, 8)),
                                   static_cast<unsigned>(sim::get(meta, 46, 8)), sim::get(meta, 18, 28)});
        }
    }

    VerilatedContext context_;
    std::unique_ptr<Vtop> top_;
    Source sources_[2];

  public:
    sim::Master<Vtop> master;
};

// Each access over link 0, while the other lender answers it first, with other data.
void stolen(World& world) {
    unsigned wrong = 0, early = 0, reads = 0, writes = 0;
    for (unsigned i = 0; i < 64; ++i) {
        const std::uint64_t offset = 64ULL * i;
        world.master.read({.addr = kAt[0] + offset, .len = 3});
        Request request = world.asked(0);
        if (i % 4 == 3)
            world.send(1, {{{kError, request.tag, 0, 0}, {}}, {}, {}});
        else
            world.data(1, request.tag, 0x1000, 4, 0x55);
        world.cycles(150);
        early += world.master.done.size();
        world.data(0, request.tag, request.offset, 4);
        const Done done = world.ended();
        bool right = done.resp == 0 && world.received.size() == 4;
        for (unsigned k = 0; right && k < 4; ++k) right = world.received[k] == of(offset + 16ULL * k);
        wrong += !right;
        world.received.clear();
        ++reads;
        world.master.write({.addr = kAt[0] + offset, .len = 3}, false);
        request = world.asked(0);
        world.ack(1, request.tag);
        world.cycles(150);
        early += world.master.done.size();
        world.ack(0, request.tag);
        wrong += world.ended().resp != 0;
        ++writes;
    }
    std::printf("{\"reads\": %u, \"writes\": %u, \"wrong\": %u, \"early\": %u}\n", reads, writes, wrong,
                early);
}

// A read over link 1 and one over link 0 behind it, whose answer is there first; then the first one's has too
// many beats.
void longer(World& world) {
    unsigned wrong = 0, reads = 0;
    for (unsigned i = 0; i < 32; ++i) {
        const std::uint64_t offset = 64ULL * i;
        world.master.read({.addr = kAt[1] + offset, .id = 1, .len = 3});
        world.master.read({.addr = kAt[0] + offset, .id = 2, .len = 3});
        const Request bad = world.asked(1);
        const Request good = world.asked(0);
        world.data(0, good.tag, good.offset, 4);
        world.cycles(100);
        world.data(1, bad.tag, 0x2000, 5 + i % 12, 0x55);
        world.ended();
        const Done done = world.ended();
        bool right = done.resp == 0 && world.received.size() == 8;
        for (unsigned k = 0; right && k < 4; ++k) right = world.received[4 + k] == of(offset + 16ULL * k);
        wrong += !right;
        world.received.clear();
        world.cycles(50);
        ++reads;
    }
    std::printf("{\"reads\": %u, \"wrong\": %u}\n", reads, wrong);
}

// A long read over link 1 ends with an error, and while the master takes its beats room that it had goes to a
// read over link 0. Then lender 1 sends data of it after all.
void late(World& world) {
    constexpr unsigned kBeats[] = {256, 256, 128};
    unsigned wrong = 0, reads = 0;
    for (unsigned i = 0; i < 8; ++i) {
        world.master.read({.addr = kAt[1], .id = 1, .len = 255});
        const Request bad = world.asked(1);
        Request good[2];
        world.master.read({.addr = kAt[0], .id = 2, .len = 255});
        good[0] = world.asked(0);
        world.master.read({.addr = kAt[0] + 4096, .id = 3, .len = 127});
        world.cycles(100);
        if (!world.requests[0].empty()) sim::fail("a read goes for which there is no room");
        world.send(1, {{{kError, bad.tag, 0, 0}, {}}, {}, {}});
        good[1] = world.asked(0);
        world.takes = false;
        for (unsigned at = 0; at < kBeats[2]; at += 16)
            world.data(0, good[1].tag, good[1].offset + 16ULL * at, 16);
        world.cycles(400);
        for (unsigned at = 0; at < kBeats[0]; at += 16) world.data(1, bad.tag, 0x100 + 16ULL * at, 16, 0x55);
        world.cycles(600);
        if (!world.master.done.empty()) sim::fail("the first read has ended");
        world.takes = true;
        for (unsigned at = 0; at < kBeats[1]; at += 16)
            world.data(0, good[0].tag, good[0].offset + 16ULL * at, 16);
        wrong += world.ended().resp != 2;
        wrong += world.ended().resp != 0;
        wrong += world.ended().resp != 0;
        for (unsigned k = 0; k < kBeats[1]; ++k)
            wrong += world.received.at(kBeats[0] + k) != of(good[0].offset + 16ULL * k);
        for (unsigned k = 0; k < kBeats[2]; ++k)
            wrong += world.received.at(kBeats[0] + kBeats[1] + k) != of(good[1].offset + 16ULL * k);
        world.received.clear();
        world.cycles(50);
        reads += 3;
    }
    std::printf("{\"reads\": %u, \"wrong\": %u}\n", reads, wrong);
}

// Lender 1 takes requests and gives no answers, or a part of one. All ends with an error in time, and link 0
// works meanwhile.
void silent(World& world) {
    std::uint64_t longest = 0, shortest = ~0ULL;
    unsigned errors = 0, rounds = 0, downs = 0;
    for (; rounds < 8; ++rounds) {
        const bool write = rounds % 2 != 0;
        const Address address{.addr = kAt[1] + 4096ULL * rounds, .len = 7};
        const auto since = world.now;
        for (unsigned i = 0; i < 3; ++i) {
            if (write)
                world.master.write(address, false);
            else
                world.master.read(address);
        }
        const Request request = world.asked(1);
        if (rounds % 4 == 0) world.data(1, request.tag, request.offset, 3);
        for (unsigned i = 0; i < 3; ++i) errors += world.ended(4 * kAnswerAfter).resp == 2;
        longest = std::max(longest, world.now - since);
        shortest = std::min(shortest, world.now - since);
        downs += !world.up(1);
        if (!world.up(0)) sim::fail("the honest link goes down");
        world.received.clear();
        world.master.read({.addr = kAt[0], .len = 0});
        const Request good = world.asked(0);
        world.data(0, good.tag, good.offset, 1);
        if (world.ended().resp != 0) sim::fail("an honest lender's answer is an error");
        world.received.clear();
        world.forget(1);
        world.wait_up();
        world.forget(1);
        // In a new session it may be believed again.
        world.master.read({.addr = kAt[1] + 0x40, .len = 1});
        const Request again = world.asked(1);
        world.data(1, again.tag, again.offset, 2);
        if (world.ended().resp != 0) sim::fail("a lender that answers again is not used again");
        world.received.clear();
    }
    std::printf(
        "{\"answer_after\": %u, \"rounds\": %u, \"errors\": %u, \"downs\": %u, \"longest\": %llu, "
        "\"shortest\": %llu}\n",
        kAnswerAfter, rounds, errors, downs, static_cast<unsigned long long>(longest),
        static_cast<unsigned long long>(shortest));
}

// Good frames of any content from lender 1, while all goes over link 0.
void noise(World& world, unsigned frames) {
    Random& random = world.random;
    unsigned sent = 0, wrong = 0, accesses = 0;
    while (sent < frames) {
        const std::uint64_t offset = 64ULL * random.below(512);
        const bool write = random.chance(40);
        const unsigned beats = 1 + random.below(4);
        const Address address{.addr = kAt[0] + offset,
                              .id = static_cast<std::uint16_t>(random.below(9)),
                              .len = static_cast<std::uint8_t>(beats - 1)};
        if (write)
            world.master.write(address, false);
        else
            world.master.read(address);
        const Request request = world.asked(0);
        for (unsigned i = 0; i < 8; ++i, ++sent) {
            Frame frame;
            for (Part& part : frame.parts) {
                part = {random.below(4), random.chance(60) ? request.tag : random.below(256), random.below(4),
                        random.below(8)};
                if (part.kind == kNone) break;
                if (part.kind == kData)
                    for (unsigned k = 0; k <= part.len; ++k)
                        frame.units.push_back(of(random.below(1 << 20), 0x33));
            }
            for (unsigned k = random.below(4); k > 0; --k)
                frame.acks.push_back(random.chance(60) ? request.tag : random.below(256));
            world.send(1, std::move(frame));
        }
        world.cycles(random.below(300));
        wrong += static_cast<unsigned>(world.master.done.size());
        if (write)
            world.ack(0, request.tag);
        else
            world.data(0, request.tag, request.offset, beats);
        bool right = world.ended().resp == 0 && (write || world.received.size() == beats);
        for (unsigned k = 0; !write && right && k < beats; ++k)
            right = world.received[k] == of(offset + 16ULL * k);
        wrong += !right;
        world.received.clear();
        ++accesses;
        while (world.waiting(1) > 40) world.cycle();
    }
    std::printf("{\"frames\": %u, \"accesses\": %u, \"wrong\": %u}\n", sent, accesses, wrong);
}

// Accesses over both links at once, which lender 1 answers with frames of any content, rightly, or not at
// all, while the master pauses. All end; those over link 0 without an error and with their own data.
class Mixed {
  public:
    explicit Mixed(World& world) : world_(world), random_(world.random) {
        world_.master.check_data = true;
        world_.master.received = nullptr;
        world_.master.check_from = kAt[0];
        world_.master.check_to = kAt[0] + kRead;
        for (std::uint64_t at = 0; at < kRead + 4096; at += 16) {
            const Data data = of(at);
            for (unsigned i = 0; i < 16; ++i) world_.master.expected.at(kAt[0] + at + i) = data[i];
        }
    }
    void run(unsigned accesses) {
        std::uint64_t idle = 0;
        while (begun_ < accesses || !under_way_.empty()) {
            if (begun_ < accesses && waits_ < 0 && under_way_.size() < 8) begin();
            hear();
            answer();
            if (random_.below(2000) == 0) noisy_ = !noisy_;
            if (random_.below(noisy_ ? 40 : 1000) == 0 && world_.waiting(1) < 8) world_.send(1, any());
            if (random_.below(400) == 0) world_.takes = !world_.takes;
            world_.cycle();
            idle = end() ? 0 : idle + 1;
            if (idle > 20'000) sim::fail("an access does not end");
        }
        std::printf("{\"accesses\": %u, \"over_the_bad_link\": %u, \"errors_there\": %u, \"wrong\": %u}\n",
                    begun_, bad_, errors_, wrong_);
    }

  private:
    static constexpr std::uint64_t kRead = 0x8000;  // what is read of link 0's window; above it is written

    void begin() {
        // While the link is down what goes there is refused at once.
        waits_ = random_.chance(world_.hears(1) ? 50 : 5) ? 1 : 0;
        bad_ += waits_;
        const bool write = random_.chance(40);
        const unsigned beats = write                ? 1 + random_.below(4)
                               : random_.chance(30) ? 256
                                                    : 1 + random_.below(24);
        const std::uint64_t at = 4096ULL * random_.below(kRead >> 12) + (write ? kRead : 0);
        const Address address{.addr = kAt[waits_] + at,
                              .id = static_cast<std::uint16_t>(begun_ % 64),
                              .len = static_cast<std::uint8_t>(beats - 1)};
        last_ = write ? world_.master.write(address, false) : world_.master.read(address);
        under_way_[last_] = waits_;
        ++begun_;
    }
    // The request of what began last: the next one begins when it came, so it is alone in its frame.
    void hear() {
        for (unsigned l = 0; l < 2; ++l) {
            for (; !world_.requests[l].empty(); world_.requests[l].pop_front()) {
                const Request& request = world_.requests[l].front();
                waits_ = -1;
                tags_[random_.below(8)] = request.tag;
                if (l == 0 || random_.chance(90))
                    due_.push_back({world_.now + random_.below(random_.chance(20) ? 2000 : 200), l, request});
            }
        }
    }
    void answer() {
        for (std::size_t i = 0; i < due_.size(); ++i) {
            const auto [at, link, request] = due_[i];
            if (at > world_.now) continue;
            due_.erase(due_.begin() + static_cast<long>(i));
            if (request.op != 1) return world_.ack(link, request.tag);
            for (unsigned beat = 0; beat <= request.len; beat += 16) {
                // EXOKAY among others: no access is exclusive, and the checker of the port hears it.
                const unsigned resp = link == 1 && random_.chance(10) ? 1 + random_.below(3) : 0;
                world_.data(link, request.tag, request.offset + 16ULL * beat,
                            std::min(16U, request.len + 1 - beat), 0, resp);
            }
            return;
        }
    }
    Frame any() {
        Frame frame;
        for (Part& part : frame.parts) {
            part = {random_.below(4), tag(), random_.below(4), random_.below(8)};
            if (part.kind == kNone) break;
            if (part.kind == kData)
                for (unsigned k = 0; k <= part.len; ++k)
                    frame.units.push_back(of(random_.below(1 << 20), 0x33));
        }
        for (unsigned k = random_.below(3); k > 0; --k) frame.acks.push_back(tag());
        return frame;
    }
    unsigned tag() { return random_.chance(80) ? tags_[random_.below(8)] : random_.below(256); }
    bool end() {
        auto& done = world_.master.done;
        const bool some = !done.empty();
        for (const Done& access : done) {
            const int link = under_way_.at(access.serial);
            under_way_.erase(access.serial);
            if (link == 0 && access.resp != 0) ++wrong_;
            if (link == 1 && access.resp != 0) ++errors_;
            // Over a link that is down it is refused, and no request comes.
            if (access.serial == last_) waits_ = -1;
        }
        done.clear();
        return some;
    }

    struct Due {
        std::uint64_t at;
        unsigned link;
        Request request;
    };
    World& world_;
    Random& random_;
    std::map<std::uint64_t, int> under_way_;  // links, by serial numbers
    std::deque<Due> due_;
    unsigned tags_[8]{};
    int waits_ = -1;  // the link that the request is awaited at
    std::uint64_t last_ = 0;
    bool noisy_ = false;
    unsigned begun_ = 0, bad_ = 0, errors_ = 0, wrong_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    World world(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
    if (what == "stolen")
        stolen(world);
    else if (what == "longer")
        longer(world);
    else if (what == "late")
        late(world);
    else if (what == "silent")
        silent(world);
    else if (what == "noise" && argc == 4)
        noise(world, static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)));
    else if (what == "mixed" && argc == 4)
        Mixed(world).run(static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)));
    else {
        std::fprintf(stderr,
                     "usage: stolen SEED | longer SEED | late SEED | silent SEED | noise SEED FRAMES | mixed "
                     "SEED ACCESSES\n");
        return 2;
    }
    return 0;
}
