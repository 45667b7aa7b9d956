// SPDX-License-Identifier: Apache-2.0
//
// The R5F's memory protection unit: DDR write-back, the shared window and the on-chip memory normal and
// without caches, devices device memory; the second core's vectors lie in on-chip memory.
#include <cstdint>

#include "consort/bare/arm/cortex_r5f_mpu.hpp"
#include "consort/versal/memory_map.hpp"

extern "C" void consort_set_mpu() {
    using namespace consort::versal;
    using namespace consort::bare::arm::mpu;
    static_assert(window % window_bytes == 0, "a region begins at a multiple of its size");
    region(0, 0, 0x80000000U, write_back | full_access);
    region(1, window, window_bytes, uncached | full_access | never_execute);
    region(2, devices, devices_bytes, device | full_access | never_execute);
    region(3, on_chip, on_chip_bytes, uncached | full_access | never_execute);
#if CONSORT_CORE == 1
    region(4, r5f_1_vectors, r5f_1_vectors_bytes, uncached | read_only);
#endif
    synchronize();
}
