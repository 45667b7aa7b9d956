// SPDX-License-Identifier: Apache-2.0
//
// The A53's page tables.
#include "consort/bare/arm/aarch64_page_tables.hpp"

extern "C" {

consort::bare::arm::PageTables consort_page_tables;

void consort_fill_page_tables() {
    consort_page_tables.fill();
}
}
