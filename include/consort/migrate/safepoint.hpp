// SPDX-License-Identifier: Apache-2.0
//
// At a safepoint a step may move to another processor in the middle of a job:
// docs/explanation/mode-changes.md, "Migration in mid-job".
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
