// SPDX-License-Identifier: Apache-2.0
//
// The compiler calls these for 64-bit numbers on a 32-bit core. Debian's compiler for RISC-V comes with a
// library for 64 bits only.
#include <cstdint>

namespace {

struct Division {
    std::uint64_t quotient;
    std::uint64_t remainder;
};

// Bit by bit, from the highest one that can be set. Of a divisor of 0 the quotient has all bits, as the
// instruction says.
Division divided(std::uint64_t number, std::uint64_t by) noexcept {
    const auto high = static_cast<std::uint32_t>(number >> 32U);
    if (high == 0 && by >> 32U == 0) {
        const auto low = static_cast<std::uint32_t>(number);
        const auto divisor = static_cast<std::uint32_t>(by);
        return {low / divisor, low % divisor};
    }
    Division made{0, 0};
    for (int bit = 63; bit >= 0; --bit) {
        const bool carry = (made.remainder >> 63U) != 0;
        made.remainder = made.remainder << 1U | (number >> static_cast<unsigned>(bit) & 1U);
        made.quotient <<= 1U;
        if (carry || made.remainder >= by) {
            made.remainder -= by;
            made.quotient |= 1U;
        }
    }
    return made;
}

std::uint64_t magnitude(std::int64_t number) noexcept {
    const auto bits = static_cast<std::uint64_t>(number);
    return number < 0 ? 0 - bits : bits;
}

constexpr double two_to_32 = 4294967296.0;

// A number of at most 53 significant bits that rounds to a float as the given one does: of what a double has
// no room for only whether there is any counts.
std::uint64_t sticky(std::uint64_t number) noexcept {
    return number >> 53U != 0 && (number & 0x7ffU) != 0 ? (number & ~std::uint64_t{0x7ff}) | 0x800U : number;
}

// Keeps the compiler from seeing what a loop computes, and calling the function that it is in.
std::uint32_t opaque(std::uint32_t value) noexcept {
    asm("" : "+r"(value));
    return value;
}

}  // namespace

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): the compiler's names

std::uint64_t __udivdi3(std::uint64_t number, std::uint64_t by) noexcept {
    return divided(number, by).quotient;
}
std::uint64_t __umoddi3(std::uint64_t number, std::uint64_t by) noexcept {
    return divided(number, by).remainder;
}
std::int64_t __divdi3(std::int64_t number, std::int64_t by) noexcept {
    const std::uint64_t found = divided(magnitude(number), magnitude(by)).quotient;
    return static_cast<std::int64_t>((number < 0) != (by < 0) ? 0 - found : found);
}
std::int64_t __moddi3(std::int64_t number, std::int64_t by) noexcept {
    const std::uint64_t found = divided(magnitude(number), magnitude(by)).remainder;
    return static_cast<std::int64_t>(number < 0 ? 0 - found : found);
}

// Each half is exact as a double, and the sum rounds once.
double __floatundidf(std::uint64_t number) noexcept {
    return static_cast<double>(static_cast<std::uint32_t>(number >> 32U)) * two_to_32 +
           static_cast<double>(static_cast<std::uint32_t>(number));
}
double __floatdidf(std::int64_t number) noexcept {
    return static_cast<double>(static_cast<std::int32_t>(number >> 32)) * two_to_32 +
           static_cast<double>(static_cast<std::uint32_t>(number));
}
float __floatundisf(std::uint64_t number) noexcept {
    return static_cast<float>(__floatundidf(sticky(number)));
}
float __floatdisf(std::int64_t number) noexcept {
    const float found = __floatundisf(magnitude(number));
    return number < 0 ? -found : found;
}
std::uint64_t __fixunsdfdi(double number) noexcept {
    const auto high = static_cast<std::uint32_t>(number / two_to_32);
    const auto low = static_cast<std::uint32_t>(number - static_cast<double>(high) * two_to_32);
    return std::uint64_t{high} << 32U | low;
}
std::int64_t __fixdfdi(double number) noexcept {
    return static_cast<std::int64_t>(number < 0 ? 0 - __fixunsdfdi(-number) : __fixunsdfdi(number));
}
std::uint64_t __fixunssfdi(float number) noexcept {
    return __fixunsdfdi(static_cast<double>(number));
}
std::int64_t __fixsfdi(float number) noexcept {
    return __fixdfdi(static_cast<double>(number));
}

int __clzsi2(std::uint32_t number) noexcept {
    int found = 0;
    for (std::uint32_t bit = 1U << 31U; bit != 0 && (number & bit) == 0; bit = opaque(bit >> 1U)) {
        ++found;
    }
    return found;
}
int __clzdi2(std::uint64_t number) noexcept {
    const auto high = static_cast<std::uint32_t>(number >> 32U);
    return high != 0 ? __clzsi2(high) : 32 + __clzsi2(static_cast<std::uint32_t>(number));
}
int __ctzsi2(std::uint32_t number) noexcept {
    int found = 0;
    for (std::uint32_t bit = 1; bit != 0 && (number & bit) == 0; bit = opaque(bit << 1U)) {
        ++found;
    }
    return found;
}
int __ctzdi2(std::uint64_t number) noexcept {
    const auto low = static_cast<std::uint32_t>(number);
    return low != 0 ? __ctzsi2(low) : 32 + __ctzsi2(static_cast<std::uint32_t>(number >> 32U));
}
int __popcountsi2(std::uint32_t number) noexcept {
    int found = 0;
    for (std::uint32_t bit = 1; bit != 0; bit = opaque(bit << 1U)) {
        found += (number & bit) != 0 ? 1 : 0;
    }
    return found;
}
int __popcountdi2(std::uint64_t number) noexcept {
    return __popcountsi2(static_cast<std::uint32_t>(number)) +
           __popcountsi2(static_cast<std::uint32_t>(number >> 32U));
}
std::uint32_t __bswapsi2(std::uint32_t number) noexcept {
    return opaque(number << 24U) | opaque(number << 8U & 0xff0000U) | opaque(number >> 8U & 0xff00U) |
           number >> 24U;
}
std::uint64_t __bswapdi2(std::uint64_t number) noexcept {
    return std::uint64_t{__bswapsi2(static_cast<std::uint32_t>(number))} << 32U |
           __bswapsi2(static_cast<std::uint32_t>(number >> 32U));
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
}
