// SPDX-License-Identifier: Apache-2.0
//
// Drives an unmodified Redis over its socket, for consort_remote_bench/remote_workloads.py: stores values,
// reads them in random order, one request at a time, and checks each. Prints one JSON object as
// remote_workloads does.
//
//   SOCKET VALUES BYTES READS REDIS...    REDIS: the command that starts it, listening at SOCKET
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Steady = std::chrono::steady_clock;

// The server, ended with this object.
class Server {
  public:
    explicit Server(char** command) : process_(::fork()) {
        if (process_ == 0) {
            // Its output would come between what is printed here.
            ::dup2(STDERR_FILENO, STDOUT_FILENO);
            ::execvp(command[0], command);
            std::perror(command[0]);
            ::_exit(127);
        }
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server() {
        if (process_ > 0) {
            ::kill(process_, SIGKILL);
            ::waitpid(process_, nullptr, 0);
        }
    }
    [[nodiscard]] bool ended() const {
        int status = 0;
        return ::waitpid(process_, &status, WNOHANG) != 0;
    }

  private:
    pid_t process_;
};

class Client {
  public:
    Client(const std::string& path, const Server& server) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (path.size() >= sizeof address.sun_path) {
            throw std::runtime_error(path + " is too long for a socket");
        }
        std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
        socket_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
        while (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
            if (server.ended()) {
                throw std::runtime_error("Redis ended before it listened");
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client() { ::close(socket_); }

    void set(const std::string& key, const std::string& value) {
        send("*3\r\n$3\r\nSET\r\n" + bulk(key) + bulk(value));
        if (line() != "+OK") {
            throw std::runtime_error("Redis did not store a value");
        }
    }
    std::string get(const std::string& key) {
        send("*2\r\n$3\r\nGET\r\n" + bulk(key));
        const std::string head = line();
        if (head.empty() || head[0] != '$' || head[1] == '-') {
            throw std::runtime_error("Redis does not have a value: " + head);
        }
        const std::size_t bytes = std::stoul(head.substr(1));
        while (have_.size() < bytes + 2) {
            more();
        }
        std::string value = have_.substr(0, bytes);
        have_.erase(0, bytes + 2);
        return value;
    }

  private:
    static std::string bulk(const std::string& text) {
        return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    }
    void send(const std::string& text) const {
        for (std::size_t done = 0; done < text.size();) {
            const ssize_t sent = ::send(socket_, text.data() + done, text.size() - done, MSG_NOSIGNAL);
            if (sent <= 0) {
                throw std::runtime_error("Redis closed the connection");
            }
            done += static_cast<std::size_t>(sent);
        }
    }
    void more() {
        std::vector<char> room(65536);
        const ssize_t came = ::recv(socket_, room.data(), room.size(), 0);
        if (came <= 0) {
            throw std::runtime_error("Redis closed the connection");
        }
        have_.append(room.data(), static_cast<std::size_t>(came));
    }
    std::string line() {
        std::size_t end = 0;
        while ((end = have_.find("\r\n")) == std::string::npos) {
            more();
        }
        std::string text = have_.substr(0, end);
        have_.erase(0, end + 2);
        return text;
    }

    int socket_ = -1;
    std::string have_;
};

// Each value differs from all others, throughout.
std::string value_of(std::uint64_t key, std::size_t bytes) {
    std::mt19937_64 random(key);
    std::string value(bytes, '\0');
    for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
        const std::uint64_t word = random();
        std::memcpy(value.data() + at, &word, std::min(sizeof word, bytes - at));
    }
    return value;
}

int run(const std::string& path, std::size_t values, std::size_t bytes, std::size_t reads, char** command) {
    const Server server(command);
    Client client(path, server);
    for (std::size_t i = 0; i < values; ++i) {
        client.set("key:" + std::to_string(i), value_of(i, bytes));
    }
    std::mt19937_64 random(3);
    std::vector<double> times;
    bool right = true;
    double all = 0;
    for (std::size_t i = 0; i < reads; ++i) {
        const std::size_t key = random() % values;
        const auto begun = Steady::now();
        const std::string value = client.get("key:" + std::to_string(key));
        const double took = std::chrono::duration<double>(Steady::now() - begun).count();
        times.push_back(took);
        all += took;
        right = right && value == value_of(key, bytes);
    }
    std::sort(times.begin(), times.end());
    const auto at = [&](std::size_t percent) {
        return times[std::min(times.size() - 1, times.size() * percent / 100)] * 1e6;
    };
    std::printf("{\"set\": %zu, \"right\": %s, \"gets\": %f, \"get_p50\": %f, \"get_p99\": %f}\n",
                values * bytes, right ? "true" : "false", static_cast<double>(reads) / all, at(50), at(99));
    return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 6) {
        std::fputs("usage: remote_redis SOCKET VALUES BYTES READS REDIS...\n", stderr);
        return 2;
    }
    try {
        return run(argv[1], std::stoul(argv[2]), std::stoul(argv[3]), std::stoul(argv[4]), argv + 5);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "remote_redis: %s\n", error.what());
        return 3;
    }
}
