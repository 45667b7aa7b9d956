// SPDX-License-Identifier: GPL-2.0-only
/* A platform device for the model of the registers: no firmware describes one. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>

#include "remap.h"

static char *model;
static uint ports = 1, links = 1, windows = 8, memories = 1, segments = 16;

module_param(model, charp, 0400);
MODULE_PARM_DESC(model, "START+SIZE, as 0x20000000+512M: a model of the registers in RAM, and as remote memory RAM that the kernel does not use");
module_param_named(model_ports, ports, uint, 0400);
MODULE_PARM_DESC(model_ports, "ports of the model (1)");
module_param_named(model_links, links, uint, 0400);
MODULE_PARM_DESC(model_links, "links of the model (1)");
module_param_named(model_windows, windows, uint, 0400);
MODULE_PARM_DESC(model_windows, "windows of each port of the model (8)");
module_param_named(model_memories, memories, uint, 0400);
MODULE_PARM_DESC(model_memories, "memories of the model (1)");
module_param_named(model_segments, segments, uint, 0400);
MODULE_PARM_DESC(model_segments, "segments of each link of the model (16)");

static struct platform_device *device;

static int check(void)
{
	if (ports && ports <= REMAP_CB_MAX_PORTS && windows && windows <= REMAP_CB_MAX_WINDOWS && links &&
	    links <= REMAP_CB_MAX_LINKS && memories && memories <= 4 && segments &&
	    segments <= REMAP_MB_MAX_SEGMENTS)
		return 0;
	pr_err("no such model: at most 4 ports, 4 links, 8 windows, 4 memories, 16 segments\n");
	return -EINVAL;
}

int remap_model_register(void)
{
	struct resource aperture = { .name = "aperture", .flags = IORESOURCE_MEM };
	u64 start, size;
	int err;

	if (!model)
		return 0;
	if (remap_parse_range(model, strlen(model), &start, &size) || !size || start > REMAP_ADDRESSES ||
	    size > REMAP_ADDRESSES - start) {
		pr_err("model= wants START+SIZE below 2^40, as 0x20000000+512M\n");
		return -EINVAL;
	}
	err = check();
	if (err)
		return err;
	/* Also the probe refuses it; what a probe refuses is nothing that insmod hears of. */
	if (region_intersects(start, size, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) != REGION_DISJOINT) {
		pr_err("the kernel uses memory of %s: hold it back (mem=, memmap=)\n", model);
		return -EBUSY;
	}
	aperture.start = start;
	aperture.end = start + size - 1;
	device = platform_device_register_simple("remap-model", PLATFORM_DEVID_NONE, &aperture, 1);
	if (IS_ERR(device))
		return PTR_ERR(device);
	if (!platform_get_drvdata(device)) {
		platform_device_unregister(device);
		return -ENODEV;
	}
	return 0;
}

void remap_model_unregister(void)
{
	if (model)
		platform_device_unregister(device);
}

bool remap_model_device(struct device *parent)
{
	const struct platform_device_id *id = platform_get_device_id(to_platform_device(parent));

	return id && !strcmp(id->name, "remap-model");
}

struct remap_model *remap_model_of(struct device *parent)
{
	const struct remap_shape shape = {
		.ports = ports, .windows = windows, .cblock_links = links,
		.memories = memories, .segments = segments, .mblock_links = links,
	};
	struct remap_model *made = kvzalloc(sizeof(*made), GFP_KERNEL);

	if (!made)
		return NULL;
	remap_model_reset(made, &shape);
	made->drain_reads = 3;
	return made;
}
