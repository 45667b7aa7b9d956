// SPDX-License-Identifier: Apache-2.0
//
// ThreadSanitizer's error about the pager: its threads have tables of descriptors of their own
// (pager/descriptors.hpp), and the sanitizer takes equal numbers in two tables for one descriptor.

extern "C" const char* __tsan_default_suppressions();   // NOLINT: the sanitizer's name
extern "C" const char* __tsan_default_suppressions() {  // NOLINT
    return "race:consort::remote::Connection::renew\n"
           "race:consort::remote::Peer::dial\n";
}

// A program that meets a page that is lost dies by its signal, under AddressSanitizer too.
extern "C" const char* __asan_default_options();   // NOLINT
extern "C" const char* __asan_default_options() {  // NOLINT
    return "handle_segv=0:handle_sigbus=0";
}
