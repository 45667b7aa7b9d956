// SPDX-License-Identifier: Apache-2.0
// In the place of the C library's: WebAssembly here has no C library, and the headers of libstdc++ ask for
// it.
#pragma once

#define __GLIBC_PREREQ(major, minor) 0
