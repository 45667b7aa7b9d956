// SPDX-License-Identifier: Apache-2.0
//
// The library that `consort remote run` preloads into a program: large allocations, and large anonymous
// mappings, come from attached segments; small ones stay with the C library. docs/remote-pager.md says what
// it takes over.
//
// CONSORT_REMOTE_SEGMENTS holds a line for each segment: key, bytes, bytes of cache, `copied` or `mapped`,
// replicas, `plain` or `encrypted`, a provider of libfabric or nothing, bytes of a page, and servers, with
// tabs between. CONSORT_REMOTE_THRESHOLD [bytes], CONSORT_REMOTE_FAULTS (in-thread, handler, polling),
// CONSORT_REMOTE_FORK (copy, nothing), CONSORT_REMOTE_PREFETCH [pages], CONSORT_REMOTE_PATIENCE_MS,
// CONSORT_REMOTE_RECONNECT_MS; and files: CONSORT_REMOTE_REPORT, CONSORT_REMOTE_RECORD_SET,
// CONSORT_REMOTE_PREFETCH_SET, and the socket CONSORT_REMOTE_CONTROL, by which segments are attached and
// detached while the program runs (preload_control.cpp).
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>

#include "consort/linux/program.hpp"
#include "preload_areas.hpp"

namespace {

using namespace consort::remote::preloaded;

const char* report_file = nullptr;
const char* record_file = nullptr;

int start() {
    std::istringstream lines(setting("CONSORT_REMOTE_SEGMENTS", ""));
    record_file = std::getenv("CONSORT_REMOTE_RECORD_SET");
    for (std::string line; std::getline(lines, line);) {
        add_segment(line);
    }
    if (areas.size() == 0) {
        throw std::invalid_argument("CONSORT_REMOTE_SEGMENTS names no segment");
    }
    in_thread = serves_in_thread();
    attached = true;
    report_file = std::getenv("CONSORT_REMOTE_REPORT");
    if (const char* path = std::getenv("CONSORT_REMOTE_PREFETCH_SET"); path != nullptr) {
        prefetch_set(path);
    }
    use_threshold(std::stoull(setting("CONSORT_REMOTE_THRESHOLD", "1048576")));
    if (const char* path = std::getenv("CONSORT_REMOTE_CONTROL"); path != nullptr) {
        listen_at(path);
    }
    return consort::linux_port::good;
}

// Programs that this one starts run as ever. In the array itself: shells have an unsetenv() of their own,
// which knows nothing of it yet.
void forget_preload() {
    static constexpr const char* name = "LD_PRELOAD=";
    char** to = environ;
    for (char** from = environ; from != nullptr && *from != nullptr; ++from) {
        if (std::strncmp(*from, name, std::strlen(name)) != 0) {
            *to++ = *from;
        }
    }
    if (to != nullptr) {
        *to = nullptr;
    }
}

// Runs before the program's main.
__attribute__((constructor)) void begin() {
    inside = true;
    const int status = consort::linux_port::run_program("consort remote run", start);
    if (status != consort::linux_port::good) {
        ::_exit(status);
    }
    forget_preload();
    see_forks(setting("CONSORT_REMOTE_FORK", "copy") != "nothing");
    inside = false;
}

__attribute__((destructor)) void end() {
    if (!attached || is_child) {
        return;
    }
    inside = true;
    stop_listening();
    say_summary();
    if (report_file != nullptr) {
        write_report(report_file);
    }
    if (record_file != nullptr) {
        write_record(record_file);
    }
    inside = false;
}

}  // namespace
