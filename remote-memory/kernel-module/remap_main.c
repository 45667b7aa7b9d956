// SPDX-License-Identifier: GPL-2.0-only
/*
 * Remote memory as memory of this kernel: loads at a cBlock and an mBlock, or at a model of their registers, and
 * offers /sys/kernel/remap.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "remap.h"

struct remap remap = {
	.lock = __MUTEX_INITIALIZER(remap.lock),
	.last_lock = __MUTEX_INITIALIZER(remap.last_lock),
	.segments = LIST_HEAD_INIT(remap.segments),
	.last_error = "none",
};

static ulong cblock, mblock;
static char *aperture;
static uint links = ~0U;
static bool model;
static uint model_ports = 1, model_links = 1, model_windows = 8, model_memories = 1, model_segments = 16;
uint remap_detach_timeout_ms = 30000, remap_drain_timeout_ms = 1000;
bool remap_scrub = true;

module_param(cblock, ulong, 0400);
MODULE_PARM_DESC(cblock, "physical address of the cBlock's registers");
module_param(mblock, ulong, 0400);
MODULE_PARM_DESC(mblock, "physical address of the mBlock's registers");
module_param(aperture, charp, 0400);
MODULE_PARM_DESC(aperture, "addresses that the cBlock serves, as 0x400000000+4G");
module_param(links, uint, 0400);
MODULE_PARM_DESC(links, "links to turn on, one bit each (all); 0 leaves them as they are");
module_param_named(detach_timeout_ms, remap_detach_timeout_ms, uint, 0600);
MODULE_PARM_DESC(detach_timeout_ms, "how long a detach may migrate pages in use (30000)");
module_param_named(drain_timeout_ms, remap_drain_timeout_ms, uint, 0600);
MODULE_PARM_DESC(drain_timeout_ms, "how long to wait for accesses under way when windows close (1000)");
module_param_named(scrub, remap_scrub, bool, 0600);
MODULE_PARM_DESC(scrub, "zero remote memory before it is detached (Y)");
module_param(model, bool, 0400);
MODULE_PARM_DESC(model, "a model of the registers in RAM instead of hardware; the aperture has to be RAM that the kernel does not use");
module_param(model_ports, uint, 0400);
module_param(model_links, uint, 0400);
module_param(model_windows, uint, 0400);
module_param(model_memories, uint, 0400);
module_param(model_segments, uint, 0400);

#define REGISTER_BYTES 0x1000

static int mmio_read(void *context, enum remap_block block, u32 at, u32 *value)
{
	*value = readl(remap.registers[block] + at);
	return 0;
}

static int mmio_write(void *context, enum remap_block block, u32 at, u32 value)
{
	writel(value, remap.registers[block] + at);
	return 0;
}

static int map_registers(void)
{
	const ulong at[2] = { cblock, mblock };
	int i;

	if (!cblock || !mblock) {
		pr_err("cblock= and mblock= have to be said, or model=1\n");
		return -EINVAL;
	}
	for (i = 0; i < 2; i++) {
		if (!request_mem_region(at[i], REGISTER_BYTES, KBUILD_MODNAME)) {
			pr_err("the registers at %#lx belong to another driver\n", at[i]);
			return -EBUSY;
		}
		remap.registers[i] = ioremap(at[i], REGISTER_BYTES);
		if (!remap.registers[i]) {
			release_mem_region(at[i], REGISTER_BYTES);
			return -ENOMEM;
		}
	}
	remap.bus.read = mmio_read;
	remap.bus.write = mmio_write;
	return 0;
}

static int make_model(void)
{
	const struct remap_shape shape = {
		.ports = model_ports, .windows = model_windows, .cblock_links = model_links,
		.memories = model_memories, .segments = model_segments, .mblock_links = model_links,
	};

	if (!model_ports || model_ports > REMAP_CB_MAX_PORTS || !model_windows ||
	    model_windows > REMAP_CB_MAX_WINDOWS || !model_links || model_links > REMAP_CB_MAX_LINKS ||
	    !model_memories || model_memories > 4 || !model_segments ||
	    model_segments > REMAP_MB_MAX_SEGMENTS) {
		pr_err("no such model: at most 4 ports, 4 links, 8 windows, 4 memories, 16 segments\n");
		return -EINVAL;
	}
	remap.model = kvzalloc(sizeof(*remap.model), GFP_KERNEL);
	if (!remap.model)
		return -ENOMEM;
	remap_model_reset(remap.model, &shape);
	remap.model->drain_reads = 3;
	remap.bus.read = remap_model_read;
	remap.bus.write = remap_model_write;
	remap.bus.context = remap.model;
	return 0;
}

static int find_aperture(void)
{
	if (!aperture || remap_parse_range(aperture, strlen(aperture), &remap.aperture_start,
					   &remap.aperture_size) ||
	    !remap.aperture_size || remap.aperture_start > REMAP_ADDRESSES ||
	    remap.aperture_size > REMAP_ADDRESSES - remap.aperture_start) {
		pr_err("aperture= wants START+SIZE below 2^40, as 0x400000000+4G\n");
		return -EINVAL;
	}
	if (region_intersects(remap.aperture_start, remap.aperture_size, IORESOURCE_SYSTEM_RAM,
			      IORES_DESC_NONE) != REGION_DISJOINT) {
		pr_err("the kernel uses memory of the aperture: hold it back (mem=, memmap=)\n");
		return -EBUSY;
	}
	return 0;
}

static void find_nodes(void)
{
	int node;

	nodes_clear(remap.nodes);
	for_each_node(node) {
		if (!node_state(node, N_MEMORY) && !node_state(node, N_CPU))
			node_set(node, remap.nodes);
	}
}

static void forget_registers(void)
{
	const ulong at[2] = { cblock, mblock };
	int i;

	for (i = 0; i < 2; i++) {
		if (!remap.registers[i])
			continue;
		iounmap(remap.registers[i]);
		release_mem_region(at[i], REGISTER_BYTES);
	}
	kvfree(remap.model);
}

static struct kobject *folder;

static int __init remap_init(void)
{
	const char *why = "";
	int err = find_aperture();

	if (err)
		return err;
	find_nodes();
	err = model ? make_model() : map_registers();
	if (err)
		goto forget;
	err = remap_table_shape(&remap.bus, &remap.shape, &why);
	if (err) {
		pr_err("%s\n", why);
		goto forget;
	}
	err = remap_table_enable(&remap.bus, links & ((1U << remap.shape.cblock_links) - 1),
				 remap.enabled_before);
	if (err)
		goto forget;
	folder = kobject_create_and_add("remap", kernel_kobj);
	err = folder ? sysfs_create_groups(folder, remap_groups) : -ENOMEM;
	if (!err && model)
		err = sysfs_create_group(folder, &remap_model_group);
	if (err)
		goto restore;
	pr_info("%u windows at %#llx, %llu bytes%s\n", remap.shape.ports * remap.shape.windows,
		remap.aperture_start, remap.aperture_size,
		model ? "; a model: what it attaches is RAM of this machine" : "");
	return 0;

restore:
	kobject_put(folder);
	remap_table_restore(&remap.bus, remap.enabled_before);
forget:
	forget_registers();
	return err;
}

/* Each segment holds the module: there is none here, and whoever writes to `attach` from now on is refused. */
static void __exit remap_exit(void)
{
	/* Waits for those who are in a file of it. */
	kobject_put(folder);
	remap_table_restore(&remap.bus, remap.enabled_before);
	forget_registers();
}

module_init(remap_init);
module_exit(remap_exit);
MODULE_DESCRIPTION("Remote memory (REMAP cBlock and mBlock) as hot-plugged memory");
MODULE_AUTHOR("Consort");
MODULE_LICENSE("GPL");
