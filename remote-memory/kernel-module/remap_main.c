// SPDX-License-Identifier: GPL-2.0-only
/*
 * Remote memory as memory of this kernel: a platform driver for a cBlock with its mBlock. It offers
 * /sys/class/remap/remapN.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/idr.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/slab.h>

#include "remap.h"

#if !IS_ENABLED(CONFIG_MEMORY_HOTPLUG) || !IS_ENABLED(CONFIG_MEMORY_HOTREMOVE)
#error "The kernel has no memory hotplug: CONFIG_MEMORY_HOTPLUG and CONFIG_MEMORY_HOTREMOVE."
#endif
#if !IS_ENABLED(CONFIG_ARCH_HAS_PMEM_API)
#error "The kernel cannot write caches back (CONFIG_ARCH_HAS_PMEM_API): lines of a segment would outlive it."
#endif
#if !IS_ENABLED(CONFIG_CONTIG_ALLOC)
#error "The kernel cannot take ranges of pages (CONFIG_CONTIG_ALLOC): no detach would end in a bounded time."
#endif
#if !IS_ENABLED(CONFIG_MEMORY_FAILURE)
#error "The kernel cannot give pages up (CONFIG_MEMORY_FAILURE): whoever uses a lost one would not know."
#endif

uint remap_detach_timeout_ms = 30000, remap_drain_timeout_ms = 1000;
bool remap_scrub = true;

module_param_named(detach_timeout_ms, remap_detach_timeout_ms, uint, 0600);
MODULE_PARM_DESC(detach_timeout_ms, "how long a detach may migrate pages in use (30000)");
module_param_named(drain_timeout_ms, remap_drain_timeout_ms, uint, 0600);
MODULE_PARM_DESC(drain_timeout_ms, "how long to wait for accesses under way when windows close (1000)");
module_param_named(scrub, remap_scrub, bool, 0600);
MODULE_PARM_DESC(scrub, "zero remote memory before it is detached (Y)");

static DEFINE_IDA(ids);

static const char *const block_names[] = {
	[REMAP_CBLOCK] = "cblock",
	[REMAP_MBLOCK] = "mblock",
};

static int mmio_read(void *context, enum remap_block block, u32 at, u32 *value)
{
	struct remap *remap = context;

	*value = readl(remap->registers[block] + at);
	return 0;
}

static int mmio_write(void *context, enum remap_block block, u32 at, u32 value)
{
	struct remap *remap = context;

	writel(value, remap->registers[block] + at);
	return 0;
}

static int map_registers(struct remap *remap, struct platform_device *pdev)
{
	int i;

	for (i = 0; i < 2; i++) {
		remap->registers[i] = devm_platform_ioremap_resource_byname(pdev, block_names[i]);
		if (IS_ERR(remap->registers[i]))
			return dev_err_probe(&pdev->dev, PTR_ERR(remap->registers[i]),
					     "no registers '%s' in reg\n", block_names[i]);
	}
	remap->bus.read = mmio_read;
	remap->bus.write = mmio_write;
	remap->bus.context = remap;
	return 0;
}

static int find_registers(struct remap *remap, struct platform_device *pdev)
{
	if (!remap_model_device(&pdev->dev))
		return map_registers(remap, pdev);
	remap->model = remap_model_of(&pdev->dev);
	if (!remap->model)
		return -ENOMEM;
	remap->bus.read = remap_model_read;
	remap->bus.write = remap_model_write;
	remap->bus.context = remap->model;
	return 0;
}

static int find_aperture(struct remap *remap, struct platform_device *pdev)
{
	struct resource *aperture = platform_get_resource_byname(pdev, IORESOURCE_MEM, "aperture");
	int err;

	if (!aperture)
		return dev_err_probe(&pdev->dev, -EINVAL, "no 'aperture' in reg\n");
	remap->aperture_start = aperture->start;
	remap->aperture_size = resource_size(aperture);
	if (aperture->end >= REMAP_ADDRESSES)
		return dev_err_probe(&pdev->dev, -EINVAL, "%pR is not below 2^40\n", aperture);
	if (region_intersects(remap->aperture_start, remap->aperture_size, IORESOURCE_SYSTEM_RAM,
			      IORES_DESC_NONE) != REGION_DISJOINT)
		return dev_err_probe(&pdev->dev, -EBUSY, "the kernel uses memory of %pR\n", aperture);
	/*
	 * Its place among all addresses, so that nobody else takes it. Not busy: memory is added below it. A
	 * device that no firmware describes has it already.
	 */
	if (aperture->parent)
		return 0;
	aperture->flags &= ~IORESOURCE_BUSY;
	err = devm_request_resource(&pdev->dev, &iomem_resource, aperture);
	return err ? dev_err_probe(&pdev->dev, err, "%pR belongs to another driver\n", aperture) : 0;
}

static void find_nodes(struct remap *remap)
{
	int node;

	nodes_clear(remap->nodes);
	for_each_node(node) {
		if (!node_state(node, N_MEMORY) && !node_state(node, N_CPU))
			node_set(node, remap->nodes);
	}
}

static irqreturn_t line_thread(int irq, void *line)
{
	return remap_events_take(line) ? IRQ_HANDLED : IRQ_NONE;
}

/*
 * The cBlock's is needed: without it nobody would hear of lost lines. The mBlock's may be another machine's.
 */
static int find_lines(struct remap *remap, struct platform_device *pdev)
{
	int i;

	for (i = 0; i < 2; i++) {
		struct remap_line *line = &remap->line[i];
		int irq, err;

		line->remap = remap;
		line->block = i;
		line->wired = remap->model;
		if (remap->model)
			continue;
		if (i == REMAP_CBLOCK)
			irq = platform_get_irq_byname(pdev, block_names[i]);
		else
			irq = platform_get_irq_byname_optional(pdev, block_names[i]);
		if (irq == -ENXIO && i == REMAP_MBLOCK)
			continue;
		if (irq < 0)
			return dev_err_probe(&pdev->dev, irq, "no interrupt '%s'\n", block_names[i]);
		err = devm_request_threaded_irq(&pdev->dev, irq, NULL, line_thread,
						IRQF_ONESHOT | IRQF_SHARED, dev_name(&remap->dev), line);
		if (err)
			return dev_err_probe(&pdev->dev, err, "interrupt '%s'\n", block_names[i]);
		line->wired = true;
	}
	return 0;
}

static void release(struct device *dev)
{
	struct remap *remap = to_remap(dev);

	kvfree(remap->model);
	ida_free(&ids, remap->id);
	kfree(remap);
}

static struct class remap_class = {
	.name = "remap",
	.dev_groups = remap_groups,
	.dev_release = release,
};

static struct remap *make(struct device *parent)
{
	struct remap *remap = kzalloc(sizeof(*remap), GFP_KERNEL);

	if (!remap)
		return NULL;
	remap->id = ida_alloc(&ids, GFP_KERNEL);
	if (remap->id < 0) {
		kfree(remap);
		return NULL;
	}
	mutex_init(&remap->lock);
	mutex_init(&remap->last_lock);
	INIT_LIST_HEAD(&remap->segments);
	ratelimit_state_init(&remap->telling, 5 * HZ, 20);
	ratelimit_set_flags(&remap->telling, RATELIMIT_MSG_ON_RELEASE);
	strscpy(remap->last_error, "none", sizeof(remap->last_error));
	remap_events_init(remap);
	device_initialize(&remap->dev);
	remap->dev.class = &remap_class;
	remap->dev.parent = parent;
	return remap;
}

static void put(void *remap)
{
	put_device(&((struct remap *)remap)->dev);
}

static void restore(void *data)
{
	struct remap *remap = data;

	if (list_empty(&remap->segments))
		remap_table_restore(&remap->bus, remap->enabled_before);
}

static void take_away(void *data)
{
	struct remap *remap = data;

	kobject_put(remap->folder);
	device_del(&remap->dev);
	/* Nobody writes to the model's files any more, and no cause is enabled: it is not raised again. */
	cancel_work_sync(&remap->model_raised);
}

static void stop(void *data)
{
	remap_events_stop(data);
}

/*
 * A loaded module has no segment when it gets here; a device that goes, as with an overlay of a device tree,
 * may. Its memory stays where pages in use cannot be migrated, and its windows stay open: the machine needs
 * them.
 */
static void close_all(void *data)
{
	struct remap *remap = data;
	unsigned int left;

	mutex_lock(&remap->lock);
	remap->closing = true;
	mutex_unlock(&remap->lock);
	left = remap_detach_all(remap);
	if (left) {
		dev_err(&remap->dev, "%u segments stay until the machine starts anew: their pages are in use\n",
			left);
		/* For them, and for what of this module is theirs. */
		get_device(&remap->dev);
		__module_get(THIS_MODULE);
	}
}

/* Files under the lock: whoever writes to `attach` at once waits until the folder is there. */
static int show(struct remap *remap, struct device *parent)
{
	int err = dev_set_name(&remap->dev, "remap%d", remap->id);

	if (err)
		return err;
	mutex_lock(&remap->lock);
	err = device_add(&remap->dev);
	if (!err) {
		remap->folder = kobject_create_and_add("segments", &remap->dev.kobj);
		if (!remap->folder) {
			err = -ENOMEM;
			remap->closing = true;
		}
	}
	mutex_unlock(&remap->lock);
	if (err && remap->closing)
		device_del(&remap->dev);
	return err ?: devm_add_action_or_reset(parent, take_away, remap);
}

static int probe(struct platform_device *pdev)
{
	struct device *parent = &pdev->dev;
	struct remap *remap = make(parent);
	const char *why = "";
	int err = remap ? devm_add_action_or_reset(parent, put, remap) : -ENOMEM;

	if (!err)
		err = find_aperture(remap, pdev);
	if (!err)
		err = find_registers(remap, pdev);
	if (err)
		return err;
	find_nodes(remap);
	err = remap_table_shape(&remap->bus, &remap->shape, &why);
	if (err)
		return dev_err_probe(parent, err, "%s\n", why);
	err = remap_table_enable(&remap->bus, (1U << remap->shape.cblock_links) - 1,
				 remap->enabled_before);
	if (!err)
		err = devm_add_action_or_reset(parent, restore, remap);
	if (!err)
		err = show(remap, parent);
	if (!err)
		err = find_lines(remap, pdev);
	if (!err)
		err = remap_events_start(remap);
	if (!err)
		err = devm_add_action_or_reset(parent, stop, remap);
	if (!err)
		err = devm_add_action_or_reset(parent, close_all, remap);
	if (err)
		return dev_err_probe(parent, err, "not started\n");
	platform_set_drvdata(pdev, remap);
	dev_info(&remap->dev, "%u windows at %#llx, %llu bytes%s\n",
		 remap->shape.ports * remap->shape.windows, remap->aperture_start, remap->aperture_size,
		 remap->model ? "; a model: what it attaches is RAM of this machine" : "");
	return 0;
}

static const struct of_device_id described[] = {
	{ .compatible = "consort,remap" },
	{}
};
MODULE_DEVICE_TABLE(of, described);

static const struct platform_device_id named[] = {
	{ .name = "remap-model" },
	{}
};
MODULE_DEVICE_TABLE(platform, named);

static struct platform_driver driver = {
	.probe = probe,
	.id_table = named,
	.driver = {
		.name = KBUILD_MODNAME,
		.of_match_table = described,
		/* Segments hold the module, and so the driver: nobody is to part it from its device. */
		.suppress_bind_attrs = true,
	},
};

static int __init remap_init(void)
{
	int err = class_register(&remap_class);

	if (err)
		return err;
	err = remap_memory_listen();
	if (err)
		goto unregister_class;
	err = platform_driver_register(&driver);
	if (err)
		goto deaf;
	err = remap_model_register();
	if (err)
		goto unregister_driver;
	return 0;

unregister_driver:
	platform_driver_unregister(&driver);
deaf:
	remap_memory_deaf();
unregister_class:
	class_unregister(&remap_class);
	return err;
}

/* Each segment holds the module: there is none here, and whoever writes to `attach` is refused. */
static void __exit remap_exit(void)
{
	remap_model_unregister();
	platform_driver_unregister(&driver);
	remap_memory_deaf();
	class_unregister(&remap_class);
	ida_destroy(&ids);
}

module_init(remap_init);
module_exit(remap_exit);
MODULE_DESCRIPTION("Remote memory (REMAP cBlock and mBlock) as hot-plugged memory");
MODULE_AUTHOR("Consort");
MODULE_LICENSE("GPL");
