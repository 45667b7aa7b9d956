// SPDX-License-Identifier: Apache-2.0
//
// FreeRTOS as `consort bench board` compares it: priorities, task notifications and a tick, all memory
// static, the optimised choice of the next task where the port has one, no checks and no statistics.
#pragma once

#define configUSE_PREEMPTION 1
#define configUSE_TIME_SLICING 0
#define configMAX_PRIORITIES 5
#define configMINIMAL_STACK_SIZE 256
#define configTICK_RATE_HZ 1000
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 0
#define configKERNEL_PROVIDED_STATIC_MEMORY 1
#define configUSE_TASK_NOTIFICATIONS 1
#define configUSE_PORT_OPTIMISED_TASK_SELECTION 1
#define configCHECK_FOR_STACK_OVERFLOW 0

#define INCLUDE_vTaskDelay 1
#define INCLUDE_vTaskSuspend 1

#if defined(__aarch64__)
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_64_BITS
#define configUNIQUE_INTERRUPT_PRIORITIES 32
#define configMAX_API_CALL_INTERRUPT_PRIORITY 18
#define configUSE_TASK_FPU_SUPPORT 2
// No tick: what is compared needs none.
#define configSETUP_TICK_INTERRUPT()
#define configCLEAR_TICK_INTERRUPT()
#else
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configCPU_CLOCK_HZ 25000000
#define configPRIO_BITS 3
#define configKERNEL_INTERRUPT_PRIORITY 0xff
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 0x20
#define configCHECK_HANDLER_INSTALLATION 0
#endif
