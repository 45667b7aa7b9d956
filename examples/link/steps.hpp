// SPDX-License-Identifier: Apache-2.0
//
// A camera's lines are filtered on one side and judged on the other. Neither step knows of the link.
#pragma once

#include <cstdint>

#include "consort/task.hpp"

namespace line {

inline constexpr std::uint32_t pixels = 512;

struct Line {
    std::uint32_t number;
    std::uint32_t brightness;
    std::uint16_t pixel[pixels];
};
struct Nothing {};
struct Camera {
    std::uint32_t lines;
};
struct Scanned {
    Line scanned;
};

// A pattern that moves by a pixel a line.
inline void scan(const Nothing& /*in*/, Camera& camera, Scanned& out) noexcept {
    out.scanned.number = ++camera.lines;
    out.scanned.brightness = 0;
    for (std::uint32_t i = 0; i < pixels; ++i) {
        out.scanned.pixel[i] = static_cast<std::uint16_t>(((i + camera.lines) * 37U) & 0x3ffU);
        out.scanned.brightness += out.scanned.pixel[i];
    }
}

struct Seen {
    Line seen;
};
struct Inspector {
    std::uint32_t lines;
    std::uint32_t wrong;
    std::uint32_t last;
};
struct Verdict {
    std::uint32_t number;
    std::uint32_t lines;
    std::uint32_t wrong;
};

// The brightness must be that of the pixels: a block that is torn or stale shows.
inline void inspect(const Seen& in, Inspector& state, Verdict& out) noexcept {
    std::uint32_t brightness = 0;
    for (const std::uint16_t pixel : in.seen.pixel) {
        brightness += pixel;
    }
    state.wrong += brightness == in.seen.brightness ? 0U : 1U;
    state.lines += in.seen.number != state.last ? 1U : 0U;
    state.last = in.seen.number;
    out = {in.seen.number, state.lines, state.wrong};
}

}  // namespace line
