// SPDX-License-Identifier: Apache-2.0
//
// The huge pages of 2 MiB that this machine has reserved (hugetlb).
#pragma once

#include <linux/magic.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <string>
#include <system_error>

namespace consort::remote {

inline bool is_of_huge_pages(int memory) noexcept {
    struct statfs found {};
    return ::fstatfs(memory, &found) == 0 && static_cast<unsigned long>(found.f_type) == HUGETLBFS_MAGIC;
}

// Throws std::system_error where fewer than `wanted` are free. Nothing holds them until they are used: a
// program that takes them later makes a fault fail (`out_of_memory`).
inline void expect_huge_pages(std::size_t wanted) {
    const auto number = [](const char* name) {
        std::ifstream file(std::string("/sys/kernel/mm/hugepages/hugepages-2048kB/") + name);
        long value = 0;
        file >> value;
        return value;
    };
    const long unused = number("free_hugepages") + number("nr_overcommit_hugepages") -
                        number("surplus_hugepages") - number("resv_hugepages");
    if (unused < static_cast<long>(wanted)) {
        throw std::system_error(ENOMEM, std::generic_category(),
                                std::to_string(wanted) + " huge pages are needed, and " +
                                    std::to_string(unused > 0 ? unused : 0) +
                                    " are free (as root: sysctl vm.nr_hugepages=N)");
    }
}

}  // namespace consort::remote
