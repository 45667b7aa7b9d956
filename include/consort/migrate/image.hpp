// SPDX-License-Identifier: Apache-2.0
//
// The live state of a job that was left at a safepoint, as bytes: what travels over a link, a channel or a
// file. Little-endian on every side. What is not exactly what this step leaves behind is refused.
#pragma once

#include <array>
#include <cstdint>

#include "consort/migrate/module.h"

namespace consort::migrate {

// Why an image is refused.
enum class Refusal : std::uint8_t {
    none,
    too_short,     // or longer than it says
    no_image,      // not the beginning of an image of this version
    other_module,  // of another step, or of another build of it
    other_layout,  // its memory is laid out otherwise
    bad_length,    // stack pointer, frames or payload outside of what the step can have
    damaged,       // the sum differs
    not_left,      // save: the job was not left at a safepoint, or the buffer is too small
};

[[nodiscard]] constexpr const char* name(Refusal why) noexcept {
    constexpr std::array<const char*, 8> names{"none",         "too short",    "no image", "other module",
                                               "other layout", "wrong length", "damaged",  "not left"};
    return names[static_cast<std::uint8_t>(why)];
}

namespace image {

inline constexpr std::uint32_t header_bytes = 48;
inline constexpr std::uint32_t magic = 0x4a4d4e43;  // "CNMJ"
inline constexpr std::uint32_t version = 1;

// Positions of the header's words. Of the two hashes the low word is first.
enum Word : std::uint8_t {
    is_magic,
    is_version,
    module_low,
    module_high,
    layout_low,
    layout_high,
    stack_pointer,
    frames_end,
    payload_bytes,
    reserved_0,
    reserved_1,
    sum,
};

// CRC-32 (IEEE 802.3) four bytes at a time.
inline constexpr auto tables = [] {
    std::array<std::array<std::uint32_t, 256>, 4> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t crc = i;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1U) ^ (0xedb88320U & (0U - (crc & 1U)));
        }
        made[0][i] = crc;
    }
    for (std::uint32_t i = 0; i < 256; ++i) {
        for (std::uint32_t n = 1; n < 4; ++n) {
            made[n][i] = (made[n - 1][i] >> 8U) ^ made[0][made[n - 1][i] & 0xffU];
        }
    }
    return made;
}();

[[nodiscard]] inline std::uint32_t load(const unsigned char* bytes) noexcept {
    return static_cast<std::uint32_t>(bytes[0]) | static_cast<std::uint32_t>(bytes[1]) << 8U |
           static_cast<std::uint32_t>(bytes[2]) << 16U | static_cast<std::uint32_t>(bytes[3]) << 24U;
}

inline void store(unsigned char* bytes, std::uint32_t value) noexcept {
    for (std::uint32_t i = 0; i < 4; ++i) {
        bytes[i] = static_cast<unsigned char>(value >> (8U * i));
    }
}

[[nodiscard]] inline std::uint32_t crc(const unsigned char* data, std::uint32_t bytes,
                                       std::uint32_t from = 0) noexcept {
    std::uint32_t crc = ~from;
    for (; bytes >= 4; bytes -= 4, data += 4) {
        crc ^= load(data);
        crc = tables[3][crc & 0xffU] ^ tables[2][(crc >> 8U) & 0xffU] ^ tables[1][(crc >> 16U) & 0xffU] ^
              tables[0][crc >> 24U];
    }
    for (; bytes != 0; --bytes, ++data) {
        crc = (crc >> 8U) ^ tables[0][(crc ^ *data) & 0xffU];
    }
    return ~crc;
}

// The checksum of the whole image but the sum itself, which is the header's last word.
[[nodiscard]] inline std::uint32_t sum_of(const unsigned char* image, std::uint32_t payload) noexcept {
    return crc(image + header_bytes, payload, crc(image, 4U * Word::sum));
}

// Checks that `image` is of this step and that a job can go on with it. All that is later read of it is
// checked here.
[[nodiscard]] inline Refusal check(const consort_migrate_module& module, const unsigned char* image,
                                   std::uint32_t bytes) noexcept {
    if (bytes < header_bytes) {
        return Refusal::too_short;
    }
    const auto word = [&](Word at) { return load(image + 4U * at); };
    const auto number = [&](Word low) {
        return static_cast<std::uint64_t>(word(static_cast<Word>(low + 1))) << 32U | word(low);
    };
    if (word(is_magic) != magic || word(is_version) != version) {
        return Refusal::no_image;
    }
    if (number(module_low) != module.module_hash) {
        return Refusal::other_module;
    }
    if (number(layout_low) != module.layout_hash) {
        return Refusal::other_layout;
    }
    const std::uint32_t pointer = word(stack_pointer);
    const std::uint32_t end = word(frames_end);
    const std::uint32_t stack_end = module.stack.at + module.stack.bytes;
    if (pointer < module.stack.at || pointer > stack_end || pointer % 16 != 0 || end <= module.frames.at ||
        end > module.frames.at + module.frames.bytes ||
        word(payload_bytes) != (stack_end - pointer) + module.data.bytes + (end - module.frames.at)) {
        return Refusal::bad_length;
    }
    if (bytes != header_bytes + word(payload_bytes)) {
        return Refusal::too_short;
    }
    return word(sum) == sum_of(image, word(payload_bytes)) ? Refusal::none : Refusal::damaged;
}

}  // namespace image

}  // namespace consort::migrate
