// SPDX-License-Identifier: Apache-2.0
//
// A host and an engine of one link on one thread, with a DMA that does as it is told.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "consort/link.hpp"

namespace consort::test {

// Moves a transfer at the `delay`-th look, or fails, or never ends.
struct ScriptedDma {
    std::uint32_t delay = 1;
    bool failing = false;
    std::uint32_t started = 0;
    std::uint32_t aborted = 0;

    void start(const spm::Transfer& transfer) noexcept {
        transfer_ = transfer;
        left_ = delay;
        failed_ = failing;
        started += 1;
    }
    [[nodiscard]] spm::DmaState state() noexcept {
        if (left_ == 0) {
            return spm::DmaState::idle;
        }
        if (--left_ != 0) {
            return spm::DmaState::busy;
        }
        if (failed_) {
            return spm::DmaState::error;
        }
        for (std::uint32_t i = 0; i < transfer_.count; ++i) {
            std::memcpy(transfer_.segment[i].to, transfer_.segment[i].from, transfer_.segment[i].bytes);
        }
        return spm::DmaState::idle;
    }
    void abort() noexcept {
        left_ = 0;
        aborted += 1;
    }

  private:
    spm::Transfer transfer_{};
    std::uint32_t left_ = 0;
    bool failed_ = false;
};

template <std::size_t Bytes>
struct Memory {
    alignas(64) std::array<std::byte, Bytes> bytes{};

    [[nodiscard]] link::Window window() noexcept { return {bytes.data(), Bytes}; }
    // Every byte follows from its offset and `seed`.
    void fill(std::uint32_t seed) noexcept {
        for (std::size_t i = 0; i < Bytes; ++i) {
            bytes[i] = at(seed, i);
        }
    }
    [[nodiscard]] bool holds(std::uint32_t seed, std::size_t offset, std::size_t length,
                             std::size_t as_if_at) const noexcept {
        for (std::size_t i = 0; i < length; ++i) {
            if (bytes[offset + i] != at(seed, as_if_at + i)) {
                return false;
            }
        }
        return true;
    }

  private:
    [[nodiscard]] static std::byte at(std::uint32_t seed, std::size_t i) noexcept {
        return static_cast<std::byte>(seed * 31U + i * 7U + i / 256U);
    }
};

template <std::uint32_t N>
struct Joined {
    static constexpr std::uint32_t size = 4096;
    using Ring = link::Ring<N>;
    using Host = link::Host<N>;

    typename Ring::Shared ring{};
    Memory<size> near;
    Memory<size> far;
    ScriptedDma dma;
    Host host{ring, near.window(), size};

    // All steps that there are.
    template <class Engine>
    static void drain(Engine& engine, Ticks now = 0) noexcept {
        while (engine.step(now)) {
        }
    }
};

}  // namespace consort::test
