// SPDX-License-Identifier: Apache-2.0
//
// Data in memory: matrix arithmetic (matrix), pointer chase (pntrch), CAN remote data requests (canrdr), bit
// manipulation (bitmnp).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "consort/icc/layout.hpp"
#include "consort/spm/step.hpp"

namespace automotive {

// LU decomposition with partial pivoting: the determinant, the solution of A x = b, and the inverse.
struct Matrix {
    static constexpr const char* name = "matrix";
    static constexpr std::size_t n = 14;
    using Constants = consort::spm::Empty;
    struct In {
        double a[n][n];
        double b[n];
    };
    using State = consort::spm::Empty;
    struct Out {
        double x[n];
        double determinant;  // 0: singular, x and the inverse are zero
        double inverse[n][n];
    };
    static void step(const Constants& /*c*/, const In& in, State& /*state*/, Out& out) noexcept {
        double a[n][n];
        std::size_t order[n];
        __builtin_memcpy(a, in.a, sizeof a);
        for (std::size_t i = 0; i < n; ++i) {
            order[i] = i;
        }
        out = Out{};
        double determinant = 1;
        for (std::size_t k = 0; k < n; ++k) {
            std::size_t pivot = k;
            for (std::size_t i = k + 1; i < n; ++i) {
                pivot = std::fabs(a[i][k]) > std::fabs(a[pivot][k]) ? i : pivot;
            }
            if (a[pivot][k] == 0) {
                return;
            }
            if (pivot != k) {
                std::swap(order[pivot], order[k]);
                for (std::size_t j = 0; j < n; ++j) {
                    std::swap(a[pivot][j], a[k][j]);
                }
                determinant = -determinant;
            }
            determinant *= a[k][k];
            for (std::size_t i = k + 1; i < n; ++i) {
                a[i][k] /= a[k][k];
                for (std::size_t j = k + 1; j < n; ++j) {
                    a[i][j] -= a[i][k] * a[k][j];
                }
            }
        }
        out.determinant = determinant;
        double column[n];
        for (std::size_t i = 0; i < n; ++i) {
            column[i] = in.b[order[i]];
        }
        substitute(a, column);
        __builtin_memcpy(out.x, column, sizeof column);
        for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t i = 0; i < n; ++i) {
                column[i] = order[i] == j ? 1 : 0;
            }
            substitute(a, column);
            for (std::size_t i = 0; i < n; ++i) {
                out.inverse[i][j] = column[i];
            }
        }
    }

  private:
    static void substitute(const double (&lu)[n][n], double (&x)[n]) noexcept {
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                x[i] -= lu[i][j] * x[j];
            }
        }
        for (std::size_t i = n; i-- > 0;) {
            for (std::size_t j = i + 1; j < n; ++j) {
                x[i] -= lu[i][j] * x[j];
            }
            x[i] /= lu[i][i];
        }
    }
};

// A list whose nodes lie scattered in memory, followed from its head until a token is found: what no
// prefetcher and no wide load can help.
struct Pntrch {
    static constexpr const char* name = "pntrch";
    static constexpr std::size_t nodes = 600, searches = 16;
    static constexpr std::uint32_t none = 0xffffffff;
    struct Constants {
        struct Node {
            std::uint32_t next;  // index; none at the end
            std::uint32_t token;
        } node[nodes];
    };
    struct In {
        std::uint32_t token[searches];
    };
    using State = consort::spm::Empty;
    struct Out {
        std::uint32_t steps[searches];  // none: not in the list
    };
    static Constants constants() {
        // 173 and 600 have no common divisor: each node comes once.
        Constants c{};
        for (std::size_t i = 0; i < nodes; ++i) {
            const std::size_t at = i * 173 % nodes;
            c.node[at].next = i + 1 == nodes ? none : static_cast<std::uint32_t>((i + 1) * 173 % nodes);
            c.node[at].token = static_cast<std::uint32_t>(i) * 2654435761U;
        }
        return c;
    }
    static void step(const Constants& c, const In& in, State& /*state*/, Out& out) noexcept {
        for (std::size_t s = 0; s < searches; ++s) {
            std::uint32_t steps = 0;
            std::uint32_t at = 0;
            // No longer than the list: a broken link must not hang the job.
            while (at < nodes && steps < nodes && c.node[at].token != in.token[s]) {
                at = c.node[at].next;
                ++steps;
            }
            out.steps[s] = at < nodes && steps < nodes ? steps : none;
        }
    }
};

// A node's message objects on a CAN bus: data frames update the object that they belong to, remote frames are
// answered with its data. Identifiers have 29 bits; an object takes those that match under its mask, the
// first object first.
struct Canrdr {
    static constexpr const char* name = "canrdr";
    static constexpr std::size_t objects = 128, frames = 256;
    struct Frame {
        std::uint32_t id;
        std::uint8_t remote;
        std::uint8_t length;  // 0 to 8
        std::uint8_t data[8];
        std::uint8_t spare[2];
    };
    struct Constants {
        std::uint32_t id[objects];
        std::uint32_t mask[objects];
        std::uint8_t length[objects];
    };
    struct In {
        std::uint32_t count;
        Frame frame[frames];
    };
    struct State {
        std::uint8_t data[objects][8];
    };
    struct Out {
        std::uint32_t answered;
        std::uint32_t updated;
        std::uint32_t ignored;
        Frame answer[frames];
    };
    static Constants constants() {
        Constants c{};
        for (std::size_t i = 0; i < objects; ++i) {
            c.mask[i] = i % 8 == 7 ? 0x1ffffff0U : 0x1fffffffU;
            c.id[i] = static_cast<std::uint32_t>(i * 40503U * 64) & c.mask[i] & 0x1fffffffU;
            c.length[i] = static_cast<std::uint8_t>(1 + i % 8);
        }
        return c;
    }
    static void step(const Constants& c, const In& in, State& state, Out& out) noexcept {
        out = Out{};
        const std::uint32_t count = in.count < frames ? in.count : frames;
        for (std::uint32_t f = 0; f < count; ++f) {
            const Frame& frame = in.frame[f];
            std::size_t i = 0;
            while (i < objects && (frame.id & c.mask[i]) != c.id[i]) {
                ++i;
            }
            if (i == objects || frame.length > 8) {
                ++out.ignored;
            } else if (frame.remote != 0) {
                Frame& answer = out.answer[out.answered++];
                answer.id = frame.id;
                answer.length = c.length[i];
                for (std::size_t b = 0; b < c.length[i]; ++b) {
                    answer.data[b] = state.data[i][b];
                }
            } else {
                for (std::size_t b = 0; b < 8 && b < frame.length; ++b) {
                    state.data[i][b] = frame.data[b];
                }
                ++out.updated;
            }
        }
    }
};

// A dot-matrix display: characters of 8 x 8 dots shifted through a line by single dots, dots set counted, and
// the line mirrored for a display that is fed from the other end.
struct Bitmnp {
    static constexpr const char* name = "bitmnp";
    static constexpr std::size_t characters = 16, rows = 8, glyphs = 64;
    struct Constants {
        std::uint8_t glyph[glyphs][rows];  // the leftmost dot is the highest bit
    };
    struct In {
        std::uint8_t text[characters];
        std::uint32_t shift;  // dots to the left, round and round
    };
    using State = consort::spm::Empty;
    struct Out {
        std::uint8_t line[rows][characters];
        std::uint8_t mirrored[rows][characters];
        std::uint32_t dots;
    };
    static Constants constants() {
        Constants c{};
        std::uint32_t x = 12345;
        for (auto& glyph : c.glyph) {
            for (std::uint8_t& row : glyph) {
                x = x * 1664525U + 1013904223U;
                row = static_cast<std::uint8_t>(x >> 24U);
            }
        }
        return c;
    }
    static void step(const Constants& c, const In& in, State& /*state*/, Out& out) noexcept {
        out.dots = 0;
        const std::size_t bytes = in.shift / 8 % characters;
        const unsigned bits = in.shift % 8;
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t k = 0; k < characters; ++k) {
                const std::uint8_t first = c.glyph[in.text[(k + bytes) % characters] % glyphs][r];
                const std::uint8_t second = c.glyph[in.text[(k + bytes + 1) % characters] % glyphs][r];
                const unsigned both = static_cast<unsigned>(first) << 8U | second;
                const auto dots = static_cast<std::uint8_t>(both >> (8 - bits));
                out.line[r][k] = dots;
                unsigned reversed = 0;
                for (unsigned bit = 0; bit < 8; ++bit) {
                    reversed |= (dots >> bit & 1U) << (7 - bit);
                    out.dots += dots >> bit & 1U;
                }
                out.mirrored[r][characters - 1 - k] = static_cast<std::uint8_t>(reversed);
            }
        }
    }
};

}  // namespace automotive

// More array elements than are found without help.
CONSORT_LAYOUT(automotive::Bitmnp::Out, line, mirrored, dots);
