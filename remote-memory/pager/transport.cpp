// SPDX-License-Identifier: Apache-2.0
#include "transport.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "fabric_transport.hpp"
#include "shared_attach.hpp"
#include "tcp_transport.hpp"

namespace consort::remote {

namespace {

// The segment's memory itself, mapped: the server made it for this client alone and gave it over the socket.
class SharedTransport final : public Home {
  public:
    SharedTransport(std::unique_ptr<Connection> connection, linux_port::SharedMemory memory)
        : connection_(std::move(connection)), memory_(std::move(memory)) {}

    void expect(std::uint32_t page) const noexcept override {
        for (std::size_t line = 0; line < page_bytes; line += 64) {
            __builtin_prefetch(at(page) + line);
        }
    }
    Outcome fetch(const Run& run, std::byte*, Fetched& found) noexcept override {
        found = {at(run.first), run.stride * static_cast<std::ptrdiff_t>(page_bytes)};
        return Outcome::good;
    }
    Outcome store(StoredPage* pages, const std::byte* const* sources, std::uint32_t count) noexcept override {
        for (std::uint32_t i = 0; i < count; ++i) {
            std::byte* to = at(pages[i].page);
            std::memcpy(to, sources[i], page_bytes);
            pages[i].crc = page_crc(to);
        }
        return Outcome::good;
    }
    void begin_store(const StoredPage* pages, const std::byte* data, std::uint32_t count) noexcept override {
        for (std::uint32_t i = 0; i < count; ++i) {
            std::memcpy(at(pages[i].page), data + i * page_bytes, page_bytes);
        }
    }
    Outcome end_store() noexcept override { return Outcome::good; }
    [[nodiscard]] bool serial() const noexcept override { return false; }
    [[nodiscard]] Refusal refusal() const noexcept override { return Refusal::none; }
    [[nodiscard]] int descriptor() const noexcept override { return memory_.fd(); }
    [[nodiscard]] std::byte* home() const noexcept override {
        return static_cast<std::byte*>(memory_.base());
    }

  private:
    [[nodiscard]] std::byte* at(std::uint32_t page) const noexcept {
        return home() + std::size_t{page} * page_bytes;
    }

    // Open for as long as the segment is attached.
    std::unique_ptr<Connection> connection_;
    linux_port::SharedMemory memory_;
};

std::unique_ptr<Home> attach_here(const Attachment& wanted) {
    SharedSegment segment = attach_shared(wanted);
    return std::make_unique<SharedTransport>(std::move(segment.connection), std::move(segment.memory));
}

}  // namespace

void Staging::take(StoredPage* pages, const std::byte* const* sources, std::uint32_t count) noexcept {
    for (std::uint32_t i = 0; i < count; ++i) {
        std::memcpy(data[i].data(), sources[i], page_bytes);
        pages[i].crc = page_crc(data[i].data());
    }
}

void say(std::initializer_list<const char*> parts) noexcept {
    std::array<char, 512> text{};
    std::size_t used = 0;
    for (const char* part : parts) {
        const std::size_t length = std::min(std::strlen(part), text.size() - used);
        std::memcpy(text.data() + used, part, length);
        used += length;
    }
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), used);
}

std::unique_ptr<Home> attach(const Attachment& wanted) {
    if (!wanted.fabric.empty()) {
        return std::make_unique<FabricTransport>(wanted);
    }
    if (on_this_machine(wanted.server)) {
        return attach_here(wanted);
    }
    return std::make_unique<TcpTransport>(wanted);
}

std::unique_ptr<Transport> attach(const Attachment& wanted, const std::vector<std::string>& servers,
                                  std::uint32_t replicas) {
    if (replicas == 0 || servers.empty() || servers.size() % replicas != 0) {
        throw std::invalid_argument("the number of servers has to be a multiple of the replicas");
    }
    std::vector<std::string> sorted = servers;
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
        throw std::invalid_argument(*twice +
                                    " is named twice: copies of a page have to be on different servers");
    }
    if (servers.size() == 1) {
        return attach(wanted);
    }
    const std::size_t groups = servers.size() / replicas;
    Attachment part = wanted;
    const std::uint64_t stripe = groups == 1 ? page_bytes : stripe_pages * page_bytes;
    const std::uint64_t stripes = (wanted.bytes + stripe - 1) / stripe;
    part.bytes = (stripes + groups - 1) / groups * stripe;
    std::vector<std::unique_ptr<Transport>> parts;
    for (std::size_t group = 0; group < groups; ++group) {
        std::vector<std::unique_ptr<Home>> homes;
        std::vector<std::string> names;
        for (std::uint32_t i = 0; i < replicas; ++i) {
            part.server = servers[group * replicas + i];
            part.encrypt = wanted.encrypt && !on_this_machine(part.server);
            homes.push_back(attach(part));
            names.push_back(part.server);
        }
        if (replicas == 1) {
            parts.push_back(std::move(homes.front()));
        } else {
            parts.push_back(replicated(std::move(homes), std::move(names)));
        }
    }
    return groups == 1 ? std::move(parts.front()) : striped(std::move(parts));
}

}  // namespace consort::remote
