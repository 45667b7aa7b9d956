// SPDX-License-Identifier: Apache-2.0
//
// FreeRTOS from waking a more urgent task to the first instruction that it executes, both tasks with
// floating-point context: a notification by the less urgent task, and, where there is a tick, a delay that
// ends while that task computes, and one that ends while the core is idle.
//
// Results: for each case the smallest and the largest reading, in ticks of the core's counter.
#include <cstdint>

#include "bench/board/dispatch/steps.hpp"
#include "consort/bare/program.hpp"

extern "C" {
#include "FreeRTOS.h"
#include "task.h"

void vPortSVCHandler();
void xPortPendSVHandler();
void xPortSysTickHandler();
void FreeRTOS_SWI_Handler();
extern unsigned char stack_top[];
}

namespace {

using consort::bare::ControlBlock;
using consort::bare::ThisPort;

constexpr std::uint32_t rounds = 100;
enum Case : std::uint32_t { notified, tick_preempts, tick_on_idle, cases };

ControlBlock* results;
std::uint32_t smallest[cases], largest[cases];
volatile std::uint32_t given;
TaskHandle_t urgent_task, less_urgent_task;

void note(Case which, std::uint32_t ticks) noexcept {
    smallest[which] = ticks < smallest[which] ? ticks : smallest[which];
    largest[which] = ticks > largest[which] ? ticks : largest[which];
}

void compute() noexcept {
    static bench::board::State state;
    bench::board::Out out;
    bench::board::compute<4>(state, out);
    asm volatile("" ::"r"(&out) : "memory");
}

#if defined(__arm__)
// Since the tick's interrupt became pending: SysTick, which counts down at the clock of the core's counter.
std::uint32_t since_tick() noexcept {
    auto* const systick = reinterpret_cast<volatile std::uint32_t*>(0xe000e010);
    const std::uint32_t value = systick[2];
    return systick[1] - value;
}
void await_tick(Case which) noexcept {
    for (std::uint32_t i = 0; i < rounds; ++i) {
        vTaskDelay(1);
        note(which, since_tick());
        compute();
    }
}
#endif

void urgent(void* /*nothing*/) {
    for (std::uint32_t i = 0; i < rounds; ++i) {
        ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        note(notified, bench::board::counter<ThisPort>() - given);
        compute();
    }
#if defined(__arm__)
    await_tick(tick_preempts);
    vTaskSuspend(less_urgent_task);
    await_tick(tick_on_idle);
#endif
    for (std::uint32_t i = 0; i < cases; ++i) {
        results->result(2 * i, smallest[i]);
        results->result(2 * i + 1, largest[i]);
    }
    results->state(consort::bare::State::done);
    for (;;) {
        ThisPort::relax();
    }
}

void less_urgent(void* /*nothing*/) {
    for (;;) {
        compute();
        given = bench::board::counter<ThisPort>();
        xTaskNotifyGive(urgent_task);
    }
}

#if defined(__arm__)
void unexpected() {
    for (;;) {
    }
}
using Vector = void (*)();
alignas(128) Vector vectors[16];

void take_exceptions() noexcept {
    for (Vector& vector : vectors) {
        vector = unexpected;
    }
    vectors[0] = reinterpret_cast<Vector>(stack_top);
    vectors[11] = vPortSVCHandler;
    vectors[14] = xPortPendSVHandler;
    vectors[15] = xPortSysTickHandler;
    *reinterpret_cast<volatile Vector**>(0xe000ed08) = vectors;
}
#else
void take_exceptions() noexcept {}
#endif

}  // namespace

#if defined(__aarch64__)
extern "C" {
std::uint64_t ullPortInterruptNesting_unused;
void vApplicationIRQHandler(std::uint32_t /*number*/) {}
}
// The port installs this table: a supervisor call comes as a synchronous exception of the same level.
asm(R"(
    .section .text.vectors, "ax"
    .balign 0x800
    .global _freertos_vector_table
_freertos_vector_table:
    b FreeRTOS_SWI_Handler
    .balign 0x200
    b FreeRTOS_SWI_Handler
    .balign 0x200
    b .
    .balign 0x200
    b .
    .text
)");
#endif

int consort_program(ControlBlock& block) noexcept {
    if (block.role() == 0) {
        return 0;
    }
    results = &block;
    for (std::uint32_t& least : smallest) {
        least = ~std::uint32_t{0};
    }
    take_exceptions();
    static StackType_t stacks[2][1024];
    static StaticTask_t tasks[2];
    urgent_task = xTaskCreateStatic(urgent, "urgent", 1024, nullptr, 3, stacks[0], &tasks[0]);
    less_urgent_task = xTaskCreateStatic(less_urgent, "less", 1024, nullptr, 1, stacks[1], &tasks[1]);
    vTaskStartScheduler();
    return consort::bare::fail(block, "the FreeRTOS scheduler came back");
}
