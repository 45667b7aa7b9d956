// SPDX-License-Identifier: Apache-2.0
//
// The exit statuses that the `main` of every program of this port has in common.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

namespace consort::linux_port {

enum ExitStatus : int {
    good = 0,
    system_fails = 1,
    bad_input = 2,
    environment_lacks = 3,
    // For an executive: the run did all it had to, but a core of it ended otherwise than by finishing.
    core_fails = 4,
};

// Runs `body` (int()) and turns what it throws into one line and the documented status: std::invalid_argument
// is bad input (2); std::system_error and std::bad_alloc say that the machine lacks something (3), a full
// disk for instance.
template <class Body>
int run_program(const char* name, Body body) {
    try {
        return body();
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "%s: %s\n", name, error.what());
        return bad_input;
    } catch (const std::system_error& error) {
        std::fprintf(stderr, "%s: %s\n", name, error.what());
        return environment_lacks;
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr, "%s: out of memory\n", name);
        return environment_lacks;
    } catch (const std::exception& error) {
        // A defect of the program: no status of the documented ones fits, and a core dump helps to find it.
        std::fprintf(stderr, "%s: defect: %s\n", name, error.what());
        std::abort();
    }
}

}  // namespace consort::linux_port
