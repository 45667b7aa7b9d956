// SPDX-License-Identifier: Apache-2.0
// The blocks as hardware that processes share: takes orders, one a line on standard input or one a message on
// a Unix socket, and answers each with one.
//
//   window lines                  orders on standard input
//   window serve SOCKET [WAVE]    orders on a socket, until `stop`; WAVE is an .fst file of all signals, of a
//                                 model that is traced (WAVES)
//
// Simulated time passes only while an order is carried out.
#include "consort/remote/window.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <iostream>
#include <map>
#include <optional>
#include <sstream>

#include "Vtop___024root.h"
#include "pair.hpp"
#ifdef WAVES
#include "verilated_fst_c.h"
#endif

namespace {

using consort::remote::Attached;
using consort::remote::Block;
using consort::remote::WindowRequest;
using consort::remote::WindowStatus;
namespace cblock = consort::remote::cblock;

constexpr unsigned kFrameData = 1;  // frame_e
constexpr unsigned kSettle = 200;   // cycles after an access in which acknowledgements come home

struct Bus {
    sim::Pair& pair;
    bool read(Block block, std::uint32_t at, std::uint32_t& value) const {
        return pair.try_read(block == Block::Cblock, at, value);
    }
    bool write(Block block, std::uint32_t at, std::uint32_t value) const {
        return pair.try_write(block == Block::Cblock, at, value);
    }
};

// The cycles at which an access passes the boundaries on its way, 0 where it did not come.
struct Hops {
    static constexpr const char* kNames[] = {"cBlock ingress", "link",      "mBlock",     "memory",
                                             "mBlock back",    "link back", "cBlock back"};
    bool on = false, write = false;
    unsigned link = 0;
    std::uint64_t at[8] = {};

    void see(Vtop& top, std::uint64_t now) {
        if (!on) return;
        const auto& root = *top.rootp;
        const auto mark = [&](unsigned i, bool seen) {
            if (seen && at[i] == 0 && (i == 0 || at[i - 1] != 0)) at[i] = now;
        };
        const auto data = [](const auto& beat, bool valid) { return valid && (beat[0] & 7) == kFrameData; };
        mark(0, write ? top.s_aw_valid_i[0] != 0 : top.s_ar_valid_i[0] != 0);
        mark(1, data(root.consort_remote_pair__DOT__c_tx[link],
                     root.consort_remote_pair__DOT__c_tx_valid[link]));
        mark(2, data(root.consort_remote_pair__DOT__m_rx[link],
                     root.consort_remote_pair__DOT__m_rx_valid[link]));
        bool asked = false;
        bool answered = false;
        for (unsigned m = 0; m < sim::kMemories; ++m) {
            asked |= (write ? top.m_aw_valid_o[m] : top.m_ar_valid_o[m]) != 0;
            answered |= (write ? top.m_b_valid_i[m] : top.m_r_valid_i[m]) != 0;
        }
        mark(3, asked);
        mark(4, answered);
        mark(5, data(root.consort_remote_pair__DOT__m_tx[link],
                     root.consort_remote_pair__DOT__m_tx_valid[link]));
        mark(6, data(root.consort_remote_pair__DOT__c_rx[link],
                     root.consort_remote_pair__DOT__c_rx_valid[link]));
        mark(7, write ? top.s_b_valid_o[0] != 0 : top.s_r_valid_o[0] != 0);
    }
    [[nodiscard]] bool complete() const { return at[7] != 0; }
};

struct Named {
    WindowRequest want;
    Attached attached;
};

#ifdef WAVES
class Wave {
  public:
    void open(sim::Pair& pair, const char* file) {
        pair.context().traceEverOn(true);
        pair.top().trace(&fst_, 99);
        fst_.open(file);
        if (!fst_.isOpen()) sim::fail(std::string("cannot write ") + file);
    }
    void dump(std::uint64_t now) {
        if (fst_.isOpen()) fst_.dump(now);
    }
    void flush() {
        if (fst_.isOpen()) fst_.flush();
    }
    void close() {
        if (fst_.isOpen()) fst_.close();
    }

  private:
    VerilatedFstC fst_;
};
#else
struct Wave {
    void open(sim::Pair&, const char*) { sim::fail("this model is not traced"); }
    void dump(std::uint64_t) {}
    void flush() {}
    void close() {}
};
#endif

class Hardware {
  public:
    explicit Hardware(const char* wave) : pair_({}, {.latency = 10}) {
        pair_.masters[0].check_data = false;
        if (wave != nullptr) wave_.open(pair_, wave);
        pair_.watch = [this](Vtop& top) {
            hops_.see(top, pair_.now + 1);
            wave_.dump(pair_.now);
        };
    }
    ~Hardware() { wave_.close(); }
    Hardware(const Hardware&) = delete;
    Hardware& operator=(const Hardware&) = delete;

    bool stopped = false;

    std::string carry_out(const std::string& order) {
        std::istringstream in(order);
        in.setf(std::ios::fmtflags{}, std::ios::basefield);  // 0x too
        std::string what;
        in >> what;
        std::string answer = "error not understood: " + order;
        if (what == "start") {
            start();
            answer = "ok";
        } else if (what == "reg-read" || what == "reg-write") {
            answer = reg(in, what == "reg-write").value_or(answer);
        } else if (what == "attach") {
            answer = attach(in);
        } else if (what == "detach") {
            answer = detach(in);
        } else if (what == "find") {
            answer = find(in);
        } else if (what == "list") {
            answer = list();
        } else if (what == "load" || what == "store") {
            answer = access(in, what == "store").value_or(answer);
        } else if (what == "hops") {
            answer = hops();
        } else if (what == "stop") {
            stopped = true;
            answer = "ok";
        }
        wave_.flush();
        return answer;
    }

  private:
    void start() {
        const std::uint32_t all = (1U << sim::kLinks) - 1;
        for (const bool c : {true, false}) pair_.write(c, cblock::DownAfter::at(), 2048);
        pair_.write(false, consort::remote::mblock::Enable::at(), all);
        pair_.write(true, cblock::Enable::at(), all);
        pair_.wait_up();
        for (const bool c : {true, false}) pair_.write(c, cblock::DownAfter::at(), cblock::DownAfter::kReset);
    }

    std::optional<std::string> reg(std::istringstream& in, bool write) {
        std::string block;
        std::uint32_t at = 0;
        std::uint32_t value = 0;
        if (!(in >> block >> at) || (write && !(in >> value)) || (block != "c" && block != "m"))
            return std::nullopt;
        const bool good =
            write ? pair_.try_write(block == "c", at, value) : pair_.try_read(block == "c", at, value);
        if (!good) return "slverr";
        return write ? "ok" : "ok " + std::to_string(value);
    }

    std::string attach(std::istringstream& in) {
        std::string name;
        std::string rights;
        Named made;
        auto& want = made.want;
        if (!(in >> name >> want.address >> want.size >> want.offset >> want.port >> want.link >>
              want.memory >> rights))
            return "error attach NAME ADDRESS SIZE OFFSET PORT LINK MEMORY RIGHTS";
        if (named_.contains(name)) return "error a window has this name";
        want.readable = rights.find('r') != std::string::npos;
        want.writable = rights.find('w') != std::string::npos;
        const auto status = windows_.attach(want, made.attached);
        if (status != WindowStatus::Ok) return std::string("error ") + words(status);
        named_.emplace(name, made);
        return "ok " + std::to_string(made.attached.window);
    }

    std::string detach(std::istringstream& in) {
        std::string name;
        in >> name;
        const auto found = named_.find(name);
        if (found == named_.end()) return "error there is no such window";
        const auto status = windows_.detach(found->second.want.port, found->second.attached.window);
        if (status != WindowStatus::Ok) return std::string("error ") + words(status);
        named_.erase(found);
        return "ok " + std::to_string(named_.size());
    }

    std::string find(std::istringstream& in) {
        std::string name;
        in >> name;
        const auto found = named_.find(name);
        if (found == named_.end()) return "error there is no such window";
        return "ok " + std::to_string(found->second.want.address) + " " +
               std::to_string(found->second.want.size);
    }

    std::string list() {
        std::ostringstream out;
        std::uint32_t up = 0;
        pair_.try_read(true, cblock::Up::at(), up);
        out << R"({"cycle": )" << pair_.now << R"(, "links_up": )" << up << R"(, "windows": [)";
        const char* comma = "";
        for (const auto& [name, made] : named_) {
            const auto& want = made.want;
            std::uint32_t reads = 0;
            std::uint32_t writes = 0;
            pair_.try_read(true, cblock::PortWindowReads::at(want.port, made.attached.window), reads);
            pair_.try_read(true, cblock::PortWindowWrites::at(want.port, made.attached.window), writes);
            out << comma << R"({"name": ")" << name << R"(", "address": )" << want.address << R"(, "size": )"
                << want.size << R"(, "offset": )" << want.offset << R"(, "link": )" << want.link
                << R"(, "memory": )" << want.memory << R"(, "readable": )"
                << (want.readable ? "true" : "false") << R"(, "writable": )"
                << (want.writable ? "true" : "false") << R"(, "window": )" << made.attached.window
                << R"(, "segment": )" << made.attached.segment << R"(, "reads": )" << reads
                << R"(, "writes": )" << writes << "}";
            comma = ", ";
        }
        out << "]}";
        return out.str();
    }

    // One AXI burst: bytes within 4 KiB, at most 64. Where size and place allow it is a single beat of that
    // size.
    std::optional<std::string> access(std::istringstream& in, bool write) {
        std::uint64_t address = 0;
        std::size_t count = 0;
        std::string hex;
        if (!(in >> address) || (write ? !(in >> hex) : !(in >> count))) return std::nullopt;
        std::uint8_t bytes[64];
        if (write) {
            count = hex.size() / 2;
            if (hex.size() % 2 != 0 || count > sizeof bytes) return std::nullopt;
            for (std::size_t i = 0; i < count; ++i)
                bytes[i] = static_cast<std::uint8_t>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
        }
        if (count == 0 || count > sizeof bytes || address % 4096 + count > 4096 || address >= 1ULL << 40)
            return std::nullopt;
        sim::Address burst{.addr = address};
        if (count <= 16 && (count & (count - 1)) == 0 && address % count == 0)
            burst.size = static_cast<std::uint8_t>(__builtin_ctzll(count));
        else
            burst.len = static_cast<std::uint8_t>((address + count - 1) / 16 - address / 16);

        for (const auto& [name, made] : named_) {
            if (address >= made.want.address && address < made.want.address + made.want.size)
                hops_.link = made.want.link;
        }
        auto& master = pair_.masters[0];
        std::vector<sim::Data> beats;
        master.received = &beats;
        hops_ = {.on = true, .write = write, .link = hops_.link};
        if (write)
            master.write(burst, bytes, count);
        else
            master.read(burst);
        pair_.finish();
        hops_.on = false;
        master.received = nullptr;
        const sim::Done done = master.done.back();
        master.done.clear();
        keep_hops(done.finished - done.issued);
        for (unsigned i = 0; i < kSettle; ++i) pair_.cycle();
        if (done.resp != 0) return done.resp == 3 ? "decerr" : "slverr";
        if (write) return "ok";
        std::string answer = "ok ";
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t at = address + i;
            char text[3];
            std::snprintf(text, sizeof text, "%02x", beats[at / 16 - address / 16][at % 16]);
            answer += text;
        }
        return answer;
    }

    // After an access that came to the memory.
    void keep_hops(std::uint64_t total) {
        if (!hops_.complete()) return;
        std::ostringstream out;
        out << R"({"access": ")" << (hops_.write ? "store" : "load") << R"(", "cycles": )" << total
            << R"(, "hops": [)";
        for (unsigned i = 0; i < 7; ++i) {
            out << (i == 0 ? "" : ", ") << R"({"hop": ")" << Hops::kNames[i] << R"(", "cycles": )"
                << hops_.at[i + 1] - hops_.at[i] << "}";
        }
        out << "]}";
        last_[hops_.write ? 1 : 0] = out.str();
    }

    [[nodiscard]] std::string hops() const {
        return "[" + last_[0] + (last_[0].empty() || last_[1].empty() ? "" : ", ") + last_[1] + "]";
    }

    sim::Pair pair_;
    Bus bus_{pair_};
    consort::remote::Windows<Bus> windows_{bus_};
    std::map<std::string, Named> named_;
    Hops hops_;
    std::string last_[2];  // hops of the last load and of the last store
    Wave wave_;
};

int serve(const char* path, const char* wave) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (std::strlen(path) >= sizeof name.sun_path) sim::fail("the socket's path is too long");
    std::strcpy(name.sun_path, path);
    const int listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (bind(listening, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0 || listen(listening, 16) != 0)
        sim::fail(std::string("cannot listen at ") + path);
    Hardware hardware(wave);
    hardware.carry_out("start");
    std::puts("ready");
    std::fflush(stdout);
    std::vector<pollfd> all{{.fd = listening, .events = POLLIN, .revents = 0}};
    while (!hardware.stopped) {
        poll(all.data(), all.size(), -1);
        for (std::size_t i = all.size(); i-- > 1;) {
            if (all[i].revents == 0) continue;
            char order[512];
            const auto got = recv(all[i].fd, order, sizeof order, 0);
            if (got > 0) {
                const auto answer = hardware.carry_out({order, static_cast<std::size_t>(got)});
                if (send(all[i].fd, answer.data(), answer.size(), MSG_NOSIGNAL) >= 0) continue;
            }
            close(all[i].fd);
            all.erase(all.begin() + static_cast<long>(i));
        }
        if (all[0].revents != 0) {
            const int client = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
            if (client >= 0) all.push_back({.fd = client, .events = POLLIN, .revents = 0});
        }
    }
    unlink(path);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "serve" && (argc == 3 || argc == 4)) return serve(argv[2], argc == 4 ? argv[3] : nullptr);
    if (what != "lines") {
        std::fprintf(stderr, "usage: lines | serve SOCKET [WAVE]\n");
        return 2;
    }
    Hardware hardware(nullptr);
    for (std::string order; !hardware.stopped && std::getline(std::cin, order);)
        std::printf("%s\n", hardware.carry_out(order).c_str());
    return 0;
}
