// SPDX-License-Identifier: Apache-2.0
// For tests on the host: the documented layout of a cell's configuration, revision 14, as far as it is used.
#pragma once
#include <jailhouse/types.h>
#define JAILHOUSE_CELL_DESC_SIGNATURE "JHCELL"
#define JAILHOUSE_CONFIG_REVISION 14
#define JAILHOUSE_CELL_PASSIVE_COMMREG 1
#define JAILHOUSE_MEM_READ 0x0001
#define JAILHOUSE_MEM_WRITE 0x0002
#define JAILHOUSE_MEM_EXECUTE 0x0004
#define JAILHOUSE_MEM_LOADABLE 0x0040
#define JAILHOUSE_MEM_ROOTSHARED 0x0080
struct jailhouse_cell_desc {
    char signature[6];
    __u16 revision;
    char name[32];
    __u32 id, flags, cpu_set_size, num_memory_regions, num_cache_regions, num_irqchips, num_pio_regions;
    __u32 num_pci_devices, num_pci_caps, num_stream_ids, vpci_irq_base;
    __u64 cpu_reset_address, msg_reply_timeout;
} __attribute__((packed));
struct jailhouse_memory {
    __u64 phys_start, virt_start, size, flags;
} __attribute__((packed));
struct jailhouse_irqchip {
    __u64 address;
    __u32 id, pin_base, pin_bitmap[4];
} __attribute__((packed));
