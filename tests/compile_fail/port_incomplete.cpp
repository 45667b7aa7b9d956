// SPDX-License-Identifier: Apache-2.0
// expect: constraints not satisfied
// errors: 2
#include "consort/icc/access.hpp"

struct Board {
    static consort::Ticks now() noexcept { return 0; }
    static consort::Ticks ticks_per_second() noexcept { return 1; }
    static void relax() noexcept {}
#ifdef MENDED
    static void clean(const void*, std::size_t) noexcept {}
    static void invalidate(const void*, std::size_t) noexcept {}
#endif
    static std::uint32_t core_id() noexcept {
        return 0;
    }
};

using Access = consort::access::NonCoherent<Board>;
