// SPDX-License-Identifier: Apache-2.0
//
// Where a step may be moved to another processor in the middle of a job. docs/explanation/migration.md.
#pragma once

#if defined(__wasm__)
extern "C" __attribute__((import_module("consort"), import_name("safepoint"))) void consort_safepoint();
#endif

namespace consort {

// In a step that is built to migrate, the job may leave here and go on here elsewhere. In every other build
// it is nothing.
inline void safepoint() noexcept {
#if defined(__wasm__)
    consort_safepoint();
#endif
}

}  // namespace consort
