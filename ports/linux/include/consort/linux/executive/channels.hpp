// SPDX-License-Identifier: Apache-2.0
//
// The ends of a plan's channels and devices in a process of this port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "consort/app/channel_ends.hpp"
#include "consort/app/job_runner.hpp"
#include "consort/icc.hpp"
#include "consort/linux/port.hpp"

namespace consort::linux_port {

using app::Transferred;

// Throws std::invalid_argument: what is wrong with an object of the region.
[[noreturn]] void refuse(const std::string& object, const Refusal& refusal);

// A region's names are short; a description's may have 64 characters, to which suffixes come. Longer ones
// keep their beginning and get a hash of the whole (FNV-1a).
inline std::string object_name(const std::string& name) {
    constexpr std::size_t most = 28;
    if (name.size() <= most) {
        return name;
    }
    std::uint32_t hash = 0x811c9dc5U;
    for (const char c : name) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193U;
    }
    std::string digits;
    for (int i = 0; i < 8; ++i) {
        digits += "0123456789abcdef"[hash >> (28 - 4 * i) & 0xfU];
    }
    return name.substr(0, most - 9) + "~" + digits;
}

template <class Channel>
typename Channel::Shared* open_or_refuse(const Region<>& region, const std::string& name) {
    const auto opened = region.template open<Channel>(name);
    if (!opened) {
        refuse(name, opened.refusal());
    }
    return opened.value();
}

// A source that fills a place of a task's input. `as_of`: see app::ReadEnd.
struct ReadSource {
    ReadSource() = default;
    ReadSource(const ReadSource&) = delete;
    ReadSource& operator=(const ReadSource&) = delete;
    virtual ~ReadSource() = default;
    virtual Transferred read(std::byte* to, Ticks as_of) noexcept = 0;
    // Its own state, for a process of the run that goes on with it, where the region lies at the same place;
    // empty: nothing.
    virtual std::span<std::byte> kept() noexcept { return {}; }
    // Takes out what waits in it, unread.
    virtual void discard() noexcept {}
    // Another mode of its task, between two jobs.
    virtual void enter_mode(std::uint32_t /*mode*/) noexcept {}
};

struct WriteTarget {
    WriteTarget() = default;
    WriteTarget(const WriteTarget&) = delete;
    WriteTarget& operator=(const WriteTarget&) = delete;
    virtual ~WriteTarget() = default;
    virtual Transferred write(const std::byte* from, Ticks visible) noexcept = 0;
    virtual std::span<std::byte> kept() noexcept { return {}; }
    // For whoever goes on with it after its process died, once `kept` is as of the last checkpoint.
    virtual void take_over() noexcept {}
    // The block after those of the checkpoint was written as well.
    virtual void passed() noexcept {}
};

template <class Part>
std::span<std::byte> bytes_of(Part& part) noexcept {
    return {reinterpret_cast<std::byte*>(&part), sizeof part};
}

// An end that knows no virtual functions (consort/app), as one that is chosen at run time.
template <class End>
struct SourceOf final : ReadSource {
    template <class... Arguments>
    explicit SourceOf(Arguments&&... arguments) : end(std::forward<Arguments>(arguments)...) {}
    Transferred read(std::byte* to, Ticks as_of) noexcept override { return end.read(to, as_of); }
    std::span<std::byte> kept() noexcept override { return bytes_of(end); }
    void discard() noexcept override {
        if constexpr (requires { end.end.discard(end.block); }) {
            end.end.discard(spare_);
        }
    }
    End end;

  private:
    struct Nothing {};
    template <class E>
    static auto spare_of() {
        if constexpr (requires(E & e) { e.end.discard(e.block); }) {
            return decltype(E::block){};
        } else {
            return Nothing{};
        }
    }
    [[no_unique_address]] decltype(spare_of<End>()) spare_{};
};
template <class End>
struct TargetOf final : WriteTarget {
    template <class... Arguments>
    explicit TargetOf(Arguments&&... arguments) : end(std::forward<Arguments>(arguments)...) {}
    Transferred write(const std::byte* from, Ticks visible) noexcept override {
        return end.write(from, visible);
    }
    std::span<std::byte> kept() noexcept override { return bytes_of(end); }
    void take_over() noexcept override {
        if constexpr (requires { end.take_over(); }) {
            end.take_over();
        }
    }
    void passed() noexcept override {
        if constexpr (requires { end.passed(); }) {
            end.passed();
        }
    }
    End end;
};

template <class C, class Member, class Binding>
std::shared_ptr<ReadSource> open_channel_reader(const Region<>& region, const Binding& binding) {
    return std::make_shared<SourceOf<app::ChannelReader<LinuxPort, C, Member>>>(
        *open_or_refuse<typename C::Channel>(region, object_name(binding.source)), binding.reader);
}

template <class C, class Binding>
std::shared_ptr<WriteTarget> open_channel_writer(const Region<>& region, const Binding& binding) {
    return std::make_shared<TargetOf<app::ChannelWriter<LinuxPort, C>>>(
        *open_or_refuse<typename C::Channel>(region, object_name(binding.source)));
}

}  // namespace consort::linux_port
