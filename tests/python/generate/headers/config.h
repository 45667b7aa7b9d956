// SPDX-License-Identifier: Apache-2.0
// For tests on the host: the documented members of Bao's configuration, as far as they are used.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef unsigned long irqid_t;
#define XSTR(text) #text
#define VM_IMAGE(name, path) static const char name[] = path;
#define VM_IMAGE_OFFSET(name) ((uintptr_t)(name))
#define VM_IMAGE_SIZE(name) sizeof(name)
#define CONFIG_HEADER .header = 1,
struct shmem { uintptr_t base; size_t size; bool place_phys; uintptr_t phys; };
struct vm_mem_region { uintptr_t base; size_t size; };
struct ipc { uintptr_t base; size_t size; size_t shmem_id; size_t interrupt_num; irqid_t* interrupts; };
struct config {
    int header;
    size_t shmemlist_size;
    struct shmem* shmemlist;
    size_t vmlist_size;
    struct {
        struct { uintptr_t base_addr, load_addr; size_t size; } image;
        uintptr_t entry;
        unsigned long cpu_affinity, colors;
        struct {
            size_t cpu_num, region_num;
            struct vm_mem_region* regions;
            size_t ipc_num;
            struct ipc* ipcs;
        } platform;
    } vmlist[4];
};
