#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy on the programs for boards: for each core that they are compiled for, and for a process beside the board.
set -euo pipefail
cd "$(dirname "$0")/.."
includes=(-Iinclude -Iports/bare/include -I.)
bare=(-std=c++20 -ffreestanding -fno-exceptions -fno-rtti "${includes[@]}")
# Where the bare-metal compiler has its own headers.
mapfile -t newlib < <(arm-none-eabi-g++ -x c++ -E -v /dev/null 2>&1 |
    sed -n '/^#include </,/^End of search list/s/^ /-isystem/p')
[ ${#newlib[@]} -gt 0 ] || { echo "arm-none-eabi-g++ does not say where its headers are" >&2; exit 3; }

process=(-std=c++20 "${includes[@]}" -Iports/bare/linux '-DCONSORT_CORE_NAME="x"')
a72=(--target=aarch64-linux-gnu -mcpu=cortex-a72 "${bare[@]}" -Iports/versal/include -Iports/versal/a72)
r5f=(--target=arm-none-eabi -mcpu=cortex-r5 -mfpu=vfpv3-d16 -mfloat-abi=hard -DCONSORT_R5F_HZ=1000000000u
    "${newlib[@]}" "${bare[@]}" -Iports/versal/include -Iports/versal/r5f)
m4f=(--target=arm-none-eabi -mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard
    "${newlib[@]}" "${bare[@]}" -Iports/mps2/include -Iports/mps2/m4f)

# check CORE FILES...: CORE names one of the lists above. A register is a number that becomes a pointer.
check() {
    local -n options=$1
    git ls-files -z "${@:2}" | xargs -0 -P "$(nproc)" -I FILE \
        clang-tidy --quiet --checks=-performance-no-int-to-ptr FILE -- "${options[@]}"
}
any=(ports/bare/memory.cpp ports/bare/runtime.cpp 'ports/bare/programs/*.cpp' bench/board/exchange.cpp)
check process 'ports/bare/linux/*.cpp' 'ports/bare/programs/*.cpp' bench/board/exchange.cpp
check a72 "${any[@]}" 'ports/versal/a72/*.cpp' ports/versal/scratchpad/window_tables.cpp bench/board/one_way.cpp \
    bench/board/interrupt.cpp bench/board/scratchpad_count.cpp
check r5f "${any[@]}" 'ports/versal/r5f/*.cpp' bench/board/one_way.cpp bench/board/io_core_count.cpp
check m4f "${any[@]}"
