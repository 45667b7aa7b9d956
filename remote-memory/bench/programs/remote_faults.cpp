// SPDX-License-Identifier: Apache-2.0
//
// The pager's time for a fault, and the least that the kernel lets it take: the two in turn, in blocks, so
// that the machine disturbs both alike. Prints one JSON object.
//
// Floors: a bare handler of SIGBUS that does one UFFDIO_COPY and nothing else, no checksum, no eviction, for
// reads, and for writes, at which the kernel zeroes a page before it finds that the fault is not its own; the
// same with 64 pages a fault, and with one of 2 MiB, where the machine has huge pages reserved; one that maps
// 64 shared pages by UFFDIO_CONTINUE; and a TCP round trip of 48 bytes there and a page back, both sides
// spinning.
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "consort/linux/json.hpp"
#include "consort/linux/program.hpp"
#include "consort/linux/remote_segment.hpp"
#include "consort/linux/shared_memory.hpp"
#include "huge_pages.hpp"
#include "server.hpp"
#include "userfault.hpp"

namespace {

using namespace consort::remote;
namespace json = consort::linux_port::json;
using Steady = std::chrono::steady_clock;

constexpr std::size_t set_bytes = 32U << 20U;
constexpr std::size_t set_pages = set_bytes / page_bytes;

std::int64_t since(Steady::time_point begun) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Steady::now() - begun).count();
}

// The least that a fault can do.
const UserFault* bare = nullptr;
const std::byte* bare_source = nullptr;
std::size_t bare_batch = 1;
std::size_t bare_page = small_page;

void bare_fault(int, siginfo_t* info, void*) {
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr) & ~(bare_page - 1);
    const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(bare->base());
    const std::size_t length = std::min(bare_batch * bare_page, set_bytes - offset);
    if ((bare_source != nullptr ? bare->copy(offset, bare_source + offset, length, false)
                                : bare->resume(offset, length)) != 0) {
        std::abort();
    }
}

std::vector<std::uint32_t> shuffled() {
    std::vector<std::uint32_t> order(set_pages);
    for (std::uint32_t i = 0; i < set_pages; ++i) {
        order[i] = i;
    }
    std::mt19937 random(1);
    std::shuffle(order.begin(), order.end(), random);
    return order;
}

// Touches pages in this order: the time of each [ns]. With `write` each makes its page dirty.
std::vector<std::int64_t> touch(std::byte* base, const std::vector<std::uint32_t>& order,
                                bool write = false) {
    std::vector<std::int64_t> times;
    times.reserve(order.size());
    for (const std::uint32_t page : order) {
        const auto begun = Steady::now();
        auto* first = reinterpret_cast<volatile char*>(base + page * page_bytes);
        if (write) {
            *first = 'y';
        } else {
            *first;
        }
        times.push_back(since(begun));
    }
    return times;
}

std::int64_t quantile(std::vector<std::int64_t> times, double share) {
    const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(times.size() - 1));
    std::nth_element(times.begin(), times.begin() + at, times.end());
    return times[static_cast<std::size_t>(at)];
}

// Reads every line of all pages in order: GB/s.
double stream(const std::byte* base) {
    const auto begun = Steady::now();
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < set_bytes; at += 64) {
        sum += *reinterpret_cast<const std::uint64_t*>(base + at);
    }
    const auto took = static_cast<double>(since(begun));
    [[maybe_unused]] static volatile std::uint64_t kept;
    kept = sum;
    return static_cast<double>(set_bytes) / took;
}

// Runs `body(range)` with the bare handler for its faults: it copies from `source`, or maps pages of
// `memory`.
template <class Body>
auto with_bare(const std::byte* source, std::size_t batch, Body body, int memory = -1,
               std::size_t page = small_page) {
    const UserFault range(set_bytes, Faults::in_thread, memory, page);
    bare_page = page;
    bare = &range;
    bare_source = source;
    bare_batch = batch;
    struct sigaction action {};
    struct sigaction before {};
    action.sa_sigaction = bare_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigaction(SIGBUS, &action, &before);
    auto result = body(range.base());
    ::sigaction(SIGBUS, &before, nullptr);
    return result;
}

// A spinning TCP round trip: 48 bytes there, 48 and a page back. The other side is a process of its own.
class TcpFloor {
  public:
    TcpFloor() {
        const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        ::bind(listening, reinterpret_cast<const sockaddr*>(&address), size);
        ::listen(listening, 1);
        ::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size);
        child_ = ::fork();
        if (child_ == 0) {
            socket_ = ::accept(listening, nullptr, nullptr);
            no_delay();
            std::vector<char> page(48 + page_bytes);
            while (receive(page.data(), 48) && ::send(socket_, page.data(), page.size(), MSG_NOSIGNAL) > 0) {
            }
            ::_exit(0);
        }
        socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), size) != 0) {
            throw std::system_error(errno, std::generic_category(), "connect");
        }
        ::close(listening);
        no_delay();
    }
    TcpFloor(const TcpFloor&) = delete;
    TcpFloor& operator=(const TcpFloor&) = delete;
    ~TcpFloor() {
        ::close(socket_);
        ::waitpid(child_, nullptr, 0);
    }
    std::int64_t round_trip() {
        const auto begun = Steady::now();
        ::send(socket_, page_.data(), 48, MSG_NOSIGNAL);
        receive(page_.data(), page_.size());
        return since(begun);
    }

  private:
    void no_delay() const {
        const int yes = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    }
    bool receive(char* to, std::size_t length) const {
        while (length != 0) {
            const ssize_t came = ::recv(socket_, to, length, MSG_DONTWAIT);
            if (came == 0 || (came < 0 && errno != EAGAIN)) {
                return false;
            }
            if (came > 0) {
                to += came;
                length -= static_cast<std::size_t>(came);
            }
        }
        return true;
    }
    int socket_ = -1;
    pid_t child_;
    std::vector<char> page_ = std::vector<char>(48 + page_bytes);
};

struct Served {
    pid_t process;
    std::uint16_t port;
};

Served serve(const std::string& key, const std::string& path) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw std::system_error(errno, std::generic_category(), "pipe");
    }
    const pid_t process = ::fork();
    if (process == 0) {
        ServerOptions options;
        options.bytes = 8 * set_bytes;
        options.key = read_key(key);
        options.path = path;
        options.listen = "127.0.0.1:0";
        // Longer than the time between two faults. The connection of the stores, which are over when faults
        // are timed, must not hold a processor.
        options.spin = std::chrono::milliseconds(1);
        const Server server(options);
        const std::uint16_t port = server.port();
        [[maybe_unused]] const auto written = ::write(ends[1], &port, sizeof port);
        for (;;) {
            ::pause();
        }
    }
    std::uint16_t port = 0;
    ::close(ends[1]);
    const bool came = ::read(ends[0], &port, sizeof port) == static_cast<ssize_t>(sizeof port);
    ::close(ends[0]);
    if (!came) {
        throw std::system_error(ECHILD, std::generic_category(), "the server did not start");
    }
    return {process, port};
}

// A segment whose first pages, the set, are at home: written once, then pushed out by twice as many behind
// them.
class Prepared {
  public:
    Prepared(const std::string& server, const std::string& key, std::size_t cache, std::uint32_t prefetch,
             Pages pages = Pages::copied, bool encrypt = false, std::size_t page = small_page)
        : segment_(options(server, key, cache, prefetch, pages, encrypt, page)) {
        auto* bytes = static_cast<std::byte*>(segment_.data());
        std::memset(bytes, 'x', segment_.bytes());
        evicted_ = segment_.counters().evicted;
    }
    [[nodiscard]] std::byte* base() const { return static_cast<std::byte*>(segment_.data()); }
    [[nodiscard]] std::uint64_t evicted() const { return segment_.counters().evicted - evicted_; }
    // Frees the cache of the pages that lie behind the set, so that no fault evicts.
    void make_room() { segment_.discard(set_bytes, 2 * set_bytes); }

  private:
    static SegmentOptions options(const std::string& server, const std::string& key, std::size_t cache,
                                  std::uint32_t prefetch, Pages pages, bool encrypt, std::size_t page) {
        SegmentOptions made;
        made.server = server;
        made.key_file = key;
        made.bytes = 3 * set_bytes;
        made.cache_bytes = cache;
        made.prefetch = prefetch;
        made.pages = pages;
        made.encrypt = encrypt;
        made.page = page;
        return made;
    }
    Segment segment_;
    std::uint64_t evicted_ = 0;
};

int run(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
    std::string pattern = "/tmp/consort-bench-remote-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
        throw std::system_error(errno, std::generic_category(), pattern);
    }
    const std::string key = pattern + "/key";
    const std::string path = pattern + "/socket";
    std::ofstream(key) << std::string(64, 'b');
    ::chmod(key.c_str(), 0600);
    const Served server = serve(key, path);
    const std::string tcp = "127.0.0.1:" + std::to_string(server.port);
    json::Value result =
        json::object({{"unit", "ns"}, {"provenance", "measured"}, {"rounds", json::array()}});
    const std::vector<std::uint32_t> order = shuffled();
    const auto source = std::make_unique<std::byte[]>(set_bytes);
    std::memset(source.get(), 'x', set_bytes);
    const auto memory = consort::linux_port::SharedMemory::anonymous("consort-bench", set_bytes);
    std::memset(memory.base(), 'x', set_bytes);
    bool has_huge = true;
    try {
        expect_huge_pages((set_bytes + set_bytes / 2) / huge_page);
    } catch (const std::system_error& lacking) {
        has_huge = false;
        result["no_huge_pages"] = lacking.what();
    }
    for (int round = 0; round < rounds; ++round) {
        json::Value row = json::object({{"set_pages", set_pages}});
        const auto note = [&](const std::string& name, const std::vector<std::int64_t>& times) {
            row[name] = quantile(times, 0.5);
            row[name + "_p99"] = quantile(times, 0.99);
            row[name + "_least"] = quantile(times, 0);
        };
        note("floor_fault", with_bare(source.get(), 1, [&](std::byte* base) { return touch(base, order); }));
        {
            Prepared ours(path, key, set_bytes + (set_bytes / 2), 1);
            ours.make_room();
            note("fault", touch(ours.base(), order));
            row["fault_evicted"] = ours.evicted();
        }
        note("floor_write_fault",
             with_bare(source.get(), 1, [&](std::byte* base) { return touch(base, order, true); }));
        {
            Prepared ours(path, key, set_bytes / 4, 1);
            // Each fault brings a page that will have to be written home, while another one is.
            note("fault_evicting", touch(ours.base(), order, true));
            row["fault_evicting_evicted"] = ours.evicted();
        }
        row["floor_stream"] = with_bare(source.get(), most_pages, stream);
        {
            Prepared ours(path, key, set_bytes + (set_bytes / 2), most_pages);
            ours.make_room();
            row["stream"] = stream(ours.base());
        }
        row["floor_stream_continue"] = with_bare(nullptr, most_pages, stream, memory.fd());
        {
            Prepared ours(path, key, set_bytes + (set_bytes / 2), most_pages, Pages::mapped);
            ours.make_room();
            row["stream_continue"] = stream(ours.base());
        }
        if (has_huge) {
            row["floor_stream_huge"] = with_bare(source.get(), 1, stream, -1, huge_page);
            Prepared ours(path, key, set_bytes + (set_bytes / 2), 1, Pages::copied, false, huge_page);
            ours.make_room();
            row["stream_huge"] = stream(ours.base());
        }
        {
            TcpFloor floor;
            std::vector<std::int64_t> times;
            for (std::size_t i = 0; i < 1000; ++i) {
                times.push_back(floor.round_trip());
            }
            note("floor_tcp", times);
        }
        {
            Prepared ours(tcp, key, set_bytes + (set_bytes / 2), 1);
            ours.make_room();
            note("tcp_fault", touch(ours.base(), order));
        }
        {
            // The cost of encryption, beside it: no goal.
            Prepared ours(tcp, key, set_bytes + (set_bytes / 2), 1, Pages::copied, true);
            ours.make_room();
            note("tcp_fault_encrypted", touch(ours.base(), order));
        }
        result["rounds"].append(row);
    }
    ::kill(server.process, SIGKILL);
    ::waitpid(server.process, nullptr, 0);
    ::unlink(path.c_str());
    ::unlink(key.c_str());
    ::rmdir(pattern.c_str());
    std::printf("%s\n", json::written(result).c_str());
    return consort::linux_port::good;
}

}  // namespace

int main(int argc, char** argv) {
    return consort::linux_port::run_program("remote_faults", [&] { return run(argc, argv); });
}
