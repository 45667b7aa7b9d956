// SPDX-License-Identifier: Apache-2.0
//
// The form of a channel's layout, where it depends on the access policy.
#pragma once

#include <cstdint>

namespace consort {

enum class Form : std::uint32_t {
    // Each line has one writer, and no word is read while it may be written: fit for every policy.
    whole_lines = 0,
    // Both sides write words of one line, or a value is copied word by word while it may be written: only for
    // policies that neither clean nor invalidate lines.
    shared_lines = 1,
};

}  // namespace consort
