// SPDX-License-Identifier: Apache-2.0
//
// A check value of what a 32-bit core computes with functions and a 64-bit one with instructions. Numbers of
// all magnitudes, from a generator.
#include <cstdint>

#include "consort/bare/program.hpp"

namespace {

std::uint64_t state = 1;
std::uint64_t next() noexcept {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t mixed = state ^ state >> 29U;
    return mixed >> (state >> 58U);
}

std::uint64_t check = 0;
void take(std::uint64_t value) noexcept {
    check = (check ^ value) * 1099511628211U;
}
template <class To, class From>
void take_bits(From from) noexcept {
    static_assert(sizeof(To) == sizeof(From));
    take(__builtin_bit_cast(To, from));
}

}  // namespace

int consort_program(consort::bare::ControlBlock& block) noexcept {
    for (int i = 0; i < 3000; ++i) {
        const std::uint64_t a = next();
        const std::uint64_t b = next() | 1U;
        const auto c = static_cast<std::int64_t>((i & 1) != 0 ? 0 - a : a);
        const auto d = static_cast<std::int64_t>((i & 2) != 0 ? 0 - b : b);
        take(a / b);
        take(a % b);
        take(static_cast<std::uint64_t>(d == -1 ? c : c / d));
        take(static_cast<std::uint64_t>(d == -1 ? c : c % d));
        take_bits<std::uint64_t>(static_cast<double>(a));
        take_bits<std::uint64_t>(static_cast<double>(c));
        take_bits<std::uint32_t>(static_cast<float>(a));
        take_bits<std::uint32_t>(static_cast<float>(c));
        take(static_cast<std::uint64_t>(static_cast<double>(a >> 1U)));
        take(static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<double>(c / 2))));
        take(static_cast<std::uint64_t>(static_cast<float>(a >> 1U)));
        take(static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<float>(c / 2))));
        take(static_cast<std::uint64_t>(__builtin_clzll(b) + __builtin_ctzll(b << (a & 31U) | 1ULL << 63U)));
        take(static_cast<std::uint64_t>(__builtin_popcountll(a)) + __builtin_bswap64(b));
        const auto low = static_cast<std::uint32_t>(b);
        take(static_cast<std::uint64_t>(__builtin_clz(low) + __builtin_popcount(low)) +
             __builtin_bswap32(low));
    }
    block.result(0, static_cast<std::uint32_t>(check));
    block.result(1, static_cast<std::uint32_t>(check >> 32U));
    return 0;
}
