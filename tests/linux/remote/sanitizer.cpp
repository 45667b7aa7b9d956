// SPDX-License-Identifier: Apache-2.0
//
// What ThreadSanitizer has wrong of the pager: its threads have tables of descriptors of their own
// (ports/linux/remote/descriptors.hpp), and the sanitizer takes equal numbers in two tables for one
// descriptor.

extern "C" const char* __tsan_default_suppressions();   // NOLINT: the sanitizer's name
extern "C" const char* __tsan_default_suppressions() {  // NOLINT
    return "race:consort::remote::Connection::renew\n"
           "race:consort::remote::Peer::dial\n";
}
