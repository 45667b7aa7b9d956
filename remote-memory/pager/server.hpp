// SPDX-License-Identifier: Apache-2.0
//
// Offers memory to clients. Each segment is memory of its own that the kernel gave zeroed and takes back on
// detach, so no client can read what another left.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "connection.hpp"
#include "consort/linux/shared_memory.hpp"

namespace consort::remote {

struct ServerOptions {
    std::uint64_t bytes = 0;  // for all segments together
    Key key{};
    std::string path;    // a socket on this machine; empty: none
    std::string listen;  // HOST:PORT; port 0: one that is free; empty: none
    std::chrono::microseconds spin{0};
    std::chrono::milliseconds patience{5000};
    bool must_encrypt = false;  // refuse connections over TCP that are not encrypted
    // Providers of libfabric through which clients may reach their segments, besides.
    std::vector<std::string> fabrics{};
    // Segments lie in huge pages of 2 MiB, of which their sizes are multiples.
    bool huge_pages = false;
    // The longest that a segment is kept for a client whose connections were cut.
    std::chrono::milliseconds most_keep{600'000};
};

class Server {
  public:
    // Listens and serves in threads of its own. Throws std::system_error, std::invalid_argument.
    explicit Server(const ServerOptions& options);
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    // Ends every connection.
    ~Server();

    // The TCP port that it listens on; 0: none.
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    // Bytes in segments that are attached.
    [[nodiscard]] std::uint64_t used() const;

  private:
    struct Segment;
    // Connections that have not proved the key yet: each holds a thread. So many by the local socket, as many
    // by TCP, and of those so many from one source; one more ends the oldest of them.
    static constexpr std::size_t most_unproven = 64;
    static constexpr std::size_t most_of_a_source = 16;
    // An address; of IPv6 the network, of which one machine may have any address. Empty: local.
    using Source = std::string;
    struct Client {
        std::thread thread;
        int socket = -1;  // -1 once it is closed; under the lock
        Source source{};
        bool unproven = true;  // and not told to end; under the lock
        std::atomic<bool> ended{false};
        // Its segment; under the lock.
        const Segment* segment = nullptr;
        Role role = Role::fetches;
    };

    void end() noexcept;
    int listen_local();
    int listen_tcp();
    void accept_from(int listening, bool local);
    void begin(int socket, const Source& source);
    void end_oldest(const Source& source);
    void serve(Client& client, bool local) noexcept;
    std::shared_ptr<Segment> handshake(Connection& connection, Client& client, bool local,
                                       std::uint64_t& turn);
    std::shared_ptr<Segment> found_segment(const Attach& attach);
    std::shared_ptr<Segment> new_segment(const Attach& attach, Refusal& why);
    std::uint64_t publish(const std::shared_ptr<Segment>& segment, Client& client, Role role);
    static Refusal store(Segment& segment, const Client& client, std::uint64_t turn, const Header& header,
                         const std::byte* payload) noexcept;
    bool serve_one(Connection& connection, Segment& segment, const Client& client, std::uint64_t turn,
                   std::byte* payload) noexcept;
    bool serve_reach(Connection& connection, Segment& segment, const FabricName& name);
    void keep(Segment& segment, const Client& client, std::uint64_t turn) noexcept;
    void release_kept();
    void reap();

    ServerOptions options_;
    std::uint16_t port_ = 0;
    std::atomic<bool> ending_{false};
    mutable std::mutex mutex_;
    std::uint64_t used_ = 0;
    std::map<SegmentId, std::weak_ptr<Segment>> segments_;
    std::list<Client> clients_;
    std::array<int, 2> listening_{-1, -1};
    int lock_ = -1;  // held beside the socket
    std::array<std::thread, 2> accepting_;
};

}  // namespace consort::remote
