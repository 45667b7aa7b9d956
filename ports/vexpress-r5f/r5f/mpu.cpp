// SPDX-License-Identifier: Apache-2.0
//
// The R5F's memory protection unit: code is not written, data are not executed; data write-back, the shared
// window without caches, devices device memory.
#include <cstdint>

#include "consort/bare/arm/cortex_r5f_mpu.hpp"
#include "consort/board/memory_map.hpp"

extern "C" void consort_set_mpu() {
    using namespace consort::board;
    using namespace consort::bare::arm::mpu;
    static_assert(window % window_bytes == 0, "a region begins at a multiple of its size");
    region(0, code, code_bytes, write_back | read_only);
    region(1, data, data_bytes, write_back | full_access | never_execute);
    region(2, window, window_bytes, uncached | full_access | never_execute);
    region(3, devices, devices_bytes, device | full_access | never_execute);
    region(4, private_devices, private_devices_bytes, device | full_access | never_execute);
    synchronize();
}
