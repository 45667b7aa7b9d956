// SPDX-License-Identifier: Apache-2.0
// A long job: the Cholesky decomposition of a 40 by 40 matrix and the solution of a system with it, with a
// safepoint after each column.
#pragma once

#include <cmath>
#include <cstdint>

#include "consort/migrate/safepoint.hpp"

namespace migrate::matrix {

inline constexpr std::uint32_t order = 40;

struct In {
    std::uint32_t seed;
};
struct State {
    std::uint32_t jobs;
    std::uint32_t reserved;
    double trace;  // of the last factor
};
struct Out {
    double solution[order];
    double residual;  // largest |A x - b|
};

struct Matrix {
    double at[order][order];
};

// Symmetric, with a diagonal that dominates.
inline void make(std::uint32_t seed, Matrix& a, double* right) {
    std::uint32_t random = seed;
    for (std::uint32_t i = 0; i < order; ++i) {
        for (std::uint32_t j = 0; j <= i; ++j) {
            random = random * 1664525U + 1013904223U;
            const double value = static_cast<double>(random >> 8U) / 16777216.0 - 0.5;
            a.at[i][j] = i == j ? value + order : value;
            a.at[j][i] = a.at[i][j];
        }
        right[i] = static_cast<double>(i % 7) - 3.0;
    }
}

// Column `k` of the factor, from the columns before it.
inline void column(Matrix& l, std::uint32_t k) {
    double pivot = l.at[k][k];
    for (std::uint32_t j = 0; j < k; ++j) {
        pivot -= l.at[k][j] * l.at[k][j];
    }
    l.at[k][k] = std::sqrt(pivot);
    for (std::uint32_t i = k + 1; i < order; ++i) {
        double sum = l.at[i][k];
        for (std::uint32_t j = 0; j < k; ++j) {
            sum -= l.at[i][j] * l.at[k][j];
        }
        l.at[i][k] = sum / l.at[k][k];
    }
}

inline void substitute(const Matrix& l, const double* right, double* x) {
    for (std::uint32_t i = 0; i < order; ++i) {
        double sum = right[i];
        for (std::uint32_t j = 0; j < i; ++j) {
            sum -= l.at[i][j] * x[j];
        }
        x[i] = sum / l.at[i][i];
    }
    for (std::uint32_t i = order; i-- > 0;) {
        double sum = x[i];
        for (std::uint32_t j = i + 1; j < order; ++j) {
            sum -= l.at[j][i] * x[j];
        }
        x[i] = sum / l.at[i][i];
    }
}

inline double residual(const Matrix& a, const double* right, const double* x) {
    double largest = 0;
    for (std::uint32_t i = 0; i < order; ++i) {
        double sum = -right[i];
        for (std::uint32_t j = 0; j < order; ++j) {
            sum += a.at[i][j] * x[j];
        }
        const double off = std::fabs(sum);
        largest = off > largest ? off : largest;
    }
    return largest;
}

inline double trace(const Matrix& l) {
    double sum = 0;
    for (std::uint32_t i = 0; i < order; ++i) {
        sum += l.at[i][i];
    }
    return sum;
}

inline void step(const In& in, State& state, Out& out) {
    Matrix a;
    Matrix l;
    double right[order];
    make(in.seed + state.jobs, a, right);
    l = a;
    for (std::uint32_t k = 0; k < order; ++k) {
        column(l, k);
        consort::safepoint();
    }
    substitute(l, right, out.solution);
    consort::safepoint();
    out.residual = residual(a, right, out.solution);
    state.trace = trace(l);
    ++state.jobs;
}

}  // namespace migrate::matrix
