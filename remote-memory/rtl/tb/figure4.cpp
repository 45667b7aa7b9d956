// SPDX-License-Identifier: Apache-2.0
// Random traffic in the system of the paper's Figure 4, over links with errors. Prints JSON; all data are
// checked.
#include <cstdlib>

#include "traffic.hpp"

// figure4 BEATS BIT-ERROR-RATE DROP REPEAT PAUSE-PERCENT SEED
int main(int argc, char** argv) {
    if (argc != 7) {
        std::fprintf(stderr, "usage: BEATS BIT-ERROR-RATE DROP REPEAT PAUSE-PERCENT SEED\n");
        return 2;
    }
    sim::soak({.beats = std::strtoull(argv[1], nullptr, 10),
               .bit_error_rate = std::strtod(argv[2], nullptr),
               .drop = std::strtod(argv[3], nullptr),
               .repeat = std::strtod(argv[4], nullptr),
               .span = 0,
               .pause = static_cast<unsigned>(std::strtoul(argv[5], nullptr, 10)),
               .seed = std::strtoull(argv[6], nullptr, 10)});
    return 0;
}
