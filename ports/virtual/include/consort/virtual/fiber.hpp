// SPDX-License-Identifier: Apache-2.0
//
// A stack of its own for each core of a machine in virtual time. One host thread runs all of them in turn.
#pragma once

#include <cstddef>

namespace consort::virtual_time {

// Not movable: what runs on it may hold its address. resume() and yield() take a few nanoseconds on x86-64
// and AArch64, some hundred elsewhere (ucontext).
class Fiber {
  public:
    static constexpr std::size_t stack_bytes = std::size_t{256} * 1024;

    // std::bad_alloc where there is no memory for the stack; below it is a page that faults.
    Fiber();
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // The next resume() begins entry(argument), which must not return nor throw. What ran before is
    // forgotten: its destructors do not run.
    void start(void (*entry)(void*), void* argument);
    // From outside: runs it until it yields.
    void resume();
    // From inside.
    void yield();

  private:
    struct Switch;
    static void begin(Fiber* fiber);
    void enter();

    void* memory_ = nullptr;
    std::size_t mapped_ = 0;
    void* inside_ = nullptr;   // where it goes on
    void* outside_ = nullptr;  // where its caller goes on
    void (*entry_)(void*) = nullptr;
    void* argument_ = nullptr;
    // State of sanitizers, which have to know of each switch.
    [[maybe_unused]] void* sanitizer_inside_ = nullptr;
    [[maybe_unused]] void* sanitizer_outside_ = nullptr;
    [[maybe_unused]] const void* caller_stack_ = nullptr;
    [[maybe_unused]] std::size_t caller_bytes_ = 0;
};

}  // namespace consort::virtual_time
