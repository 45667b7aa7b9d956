// SPDX-License-Identifier: Apache-2.0
//
// Sizes of tests under a sanitizer: it makes everything ten times as slow, and what it could find in one
// thread's repetitions it finds in the first ones.
#pragma once

namespace consort::test {

template <class Number>
[[nodiscard]] constexpr Number fewer(Number number) noexcept {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return number / 5;
#else
    return number;
#endif
}

}  // namespace consort::test
