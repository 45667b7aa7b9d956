// SPDX-License-Identifier: Apache-2.0
//
// Shared by the parts of the preloaded library: preload.cpp begins and ends, preload_*.cpp have one thing
// each.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <string>

#define CONSORT_EXPORT extern "C" __attribute__((visibility("default")))

namespace consort::remote::preloaded {

// Set while this library's own code runs in this thread: what it calls is then the C library's.
extern thread_local bool inside;
// True if segments are attached in this process; a child after fork() has none, but copies of their blocks.
extern bool attached;
// True if the faulting threads serve their faults, on SIGBUS.
extern bool in_thread;

// A variable of the environment.
std::string setting(const char* name, const char* otherwise);
bool serves_in_thread();
// A segment as a line of CONSORT_REMOTE_SEGMENTS has it; its number. Throws as Segment does.
std::size_t add_segment(const std::string& line);
// Brings a working set: the pages of each segment in turn, each after a line `segment`.
void prefetch_set(const char* path);
void write_report(const char* path);
// One line: how much lay in segments when it was most, and what that took.
void say_summary();
void write_record(const char* path);

// Orders of another program: to attach a segment (a line as in CONSORT_REMOTE_SEGMENTS; its number), to
// detach one, whose pages come home first where they are to stay, and to say what is attached. They throw as
// Segment does, and std::invalid_argument where it cannot be.
std::size_t attach(const std::string& line);
std::string detach(std::size_t place, bool stays);
std::string listing();
// Orders come by the socket at this path, from this user alone, and are served by a thread of its own.
void listen_at(const char* path);
void stop_listening() noexcept;

// From now on a child after fork() gets a copy of all blocks, where they are in its parent, if it is to.
void see_forks(bool copies);

// Says it on standard error, once for each flag.
void say_once(std::atomic_flag& said, const char* words);

// The C library's function of this name.
template <class Function>
Function* original(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace consort::remote::preloaded
