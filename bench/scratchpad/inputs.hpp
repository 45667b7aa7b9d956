// SPDX-License-Identifier: Apache-2.0
//
// An input for each kernel that makes it do all of its work.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/all.hpp"
#include "synthetic.hpp"

namespace inputs {

inline std::uint32_t hashed(std::uint32_t i) {
    i = (i ^ (i >> 16U)) * 0x45d9f3bU;
    return i ^ (i >> 16U);
}
// 0 to 1.
inline float unit(std::uint32_t i) {
    return static_cast<float>(hashed(i) % 65536) / 65536;
}

inline void fill(automotive::Tblook::In& in) {
    for (std::uint32_t i = 0; i < automotive::Tblook::points; ++i) {
        in.speed[i] = 600 + 6400 * unit(i);
        in.load[i] = 100 * unit(i + 500);
    }
}
inline void fill(automotive::Matrix::In& in) {
    for (std::uint32_t r = 0; r < automotive::Matrix::n; ++r) {
        in.b[r] = static_cast<double>(unit(r));
        for (std::uint32_t c = 0; c < automotive::Matrix::n; ++c) {
            in.a[r][c] = static_cast<double>(unit(100 + r * 20 + c)) - 0.5;
        }
    }
}
inline void fill(automotive::A2time::In& in) {
    std::uint32_t at = 0xffff0000U;
    for (std::uint32_t i = 0; i <= automotive::A2time::teeth; ++i) {
        in.stamp[i] = at;
        at += 10'000 + hashed(i) % 100 + (i == 30 ? 20'000 : 0);
    }
    for (std::uint32_t i = 0; i < automotive::A2time::targets; ++i) {
        in.target[i] = 720 * unit(i);
    }
}
inline void fill(automotive::Pntrch::In& in) {
    for (std::uint32_t i = 0; i < automotive::Pntrch::searches; ++i) {
        in.token[i] = hashed(i) % 600 * 2654435761U;
    }
}
inline void fill(automotive::Ttsprk::In& in) {
    in = {2000, 55, 13.5F, 40, 0x11};
}
inline void fill(automotive::Iirflt::In& in) {
    for (std::uint32_t i = 0; i < automotive::Iirflt::samples; ++i) {
        in.x[i] = unit(i) - 0.5F;
    }
}
inline void fill(automotive::Canrdr::In& in) {
    const auto c = automotive::Canrdr::constants();
    in.count = automotive::Canrdr::frames;
    for (std::uint32_t i = 0; i < in.count; ++i) {
        in.frame[i] = {c.id[hashed(i) % 128], static_cast<std::uint8_t>(i % 2), 8, {1, 2, 3}, {}};
    }
}
inline void fill(automotive::Bitmnp::In& in) {
    for (std::uint32_t i = 0; i < automotive::Bitmnp::characters; ++i) {
        in.text[i] = static_cast<std::uint8_t>(hashed(i));
    }
    in.shift = 43;
}
inline void fill(automotive::Rspeed::In& in) {
    in.now = 1'000'000;
    for (std::uint32_t w = 0; w < automotive::Rspeed::wheels; ++w) {
        in.count[w] = automotive::Rspeed::pulses;
        for (std::uint32_t i = 0; i < automotive::Rspeed::pulses; ++i) {
            in.stamp[w][i] = 1200 * i + hashed(i) % 200;
        }
    }
}
inline void fill(automotive::Puwm::In& in) {
    in.period = 8000;
    in.dead = 100;
    std::uint32_t i = 0;
    for (auto& period : in.duty) {
        for (std::uint16_t& duty : period) {
            duty = static_cast<std::uint16_t>(hashed(i++));
        }
    }
}
inline void fill(automotive::Aifirf::In& in) {
    for (std::uint32_t i = 0; i < automotive::Aifirf::samples; ++i) {
        in.x[i] = unit(i) - 0.5F;
        in.wanted[i] = 0.5F * in.x[i];
    }
    in.rate = 0.01F;
}
inline void fill(automotive::Aifftr::In& in) {
    for (std::uint32_t i = 0; i < automotive::Aifftr::n; ++i) {
        in.x[i] = unit(i) - 0.5F;
    }
}
inline void fill(automotive::Aiifft::In& in) {
    for (std::uint32_t i = 0; i < automotive::Aiifft::n; ++i) {
        in.x[i] = {unit(i) - 0.5F, unit(i + 1000) - 0.5F};
    }
}
inline void fill(automotive::Idct::In& in) {
    std::uint32_t i = 0;
    for (auto& row : in.coefficient) {
        for (float& c : row) {
            c = 1000 * unit(i++) - 500;
        }
    }
}
inline void fill(synthetic::In& in) {
    in.seed = 12345;
}

}  // namespace inputs
