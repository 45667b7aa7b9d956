// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/class/remap/remapN: attach, detach, one file for each property of the device, counters/, fault/, a
 * folder for each segment in segments/, and model/ where there is one.
 */
#include <linux/device.h>
#include <linux/memory.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "remap.h"

static ssize_t attach_store(struct device *dev, struct device_attribute *attr, const char *text,
			    size_t length)
{
	int err = remap_attach(to_remap(dev), text, length);

	return err ?: length;
}
static DEVICE_ATTR_WO(attach);

static ssize_t detach_store(struct device *dev, struct device_attribute *attr, const char *text,
			    size_t length)
{
	int err = remap_detach(to_remap(dev), text, length);

	return err ?: length;
}
static DEVICE_ATTR_WO(detach);

static ssize_t registers_show(struct device *dev, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%s\n", to_remap(dev)->model ? "model" : "hardware");
}
static DEVICE_ATTR_RO(registers);

/* A bit for each link; or that a register did not answer. */
static int links_up(struct remap *remap, u32 *links)
{
	u32 link;
	bool up;
	int err = mutex_lock_interruptible(&remap->lock);

	if (err)
		return err;
	*links = 0;
	for (link = 0; !err && link < remap->shape.cblock_links; link++) {
		err = remap_table_link(&remap->bus, link, &up);
		if (!err && up)
			*links |= 1U << link;
	}
	mutex_unlock(&remap->lock);
	return err;
}

static ssize_t answers_show(struct device *dev, struct device_attribute *attr, char *text)
{
	u32 links;
	int err = links_up(to_remap(dev), &links);

	return err && err != -EIO ? err : sysfs_emit(text, "%d\n", !err);
}
static DEVICE_ATTR_ADMIN_RO(answers);

static ssize_t up_show(struct device *dev, struct device_attribute *attr, char *text)
{
	u32 links;
	int err = links_up(to_remap(dev), &links);

	return err ?: sysfs_emit(text, "%#x\n", links);
}
static DEVICE_ATTR_ADMIN_RO(up);

#define DEVICE_VALUE(name, kind, format, value)                                                             \
	static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *text)           \
	{                                                                                                   \
		const struct remap *remap = to_remap(dev);                                                  \
													    \
		return sysfs_emit(text, format "\n", value);                                                \
	}                                                                                                   \
	static DEVICE_ATTR_##kind(name)

DEVICE_VALUE(links, RO, "%u", remap->shape.cblock_links);
DEVICE_VALUE(ports, RO, "%u", remap->shape.ports);
DEVICE_VALUE(windows, RO, "%u", remap->shape.windows);
DEVICE_VALUE(memories, RO, "%u", remap->shape.memories);
/* Physical addresses are for root alone. */
DEVICE_VALUE(aperture_start, ADMIN_RO, "%#llx", remap->aperture_start);
DEVICE_VALUE(aperture_size, RO, "%llu", remap->aperture_size);
DEVICE_VALUE(nodes, RO, "%*pbl", nodemask_pr_args(&remap->nodes));

static ssize_t block_bytes_show(struct device *dev, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%lu\n", memory_block_size_bytes());
}
static DEVICE_ATTR_RO(block_bytes);

static ssize_t last_error_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct remap *remap = to_remap(dev);
	int length;

	mutex_lock(&remap->last_lock);
	length = sysfs_emit(text, "%s\n", remap->last_error);
	mutex_unlock(&remap->last_lock);
	return length;
}
static DEVICE_ATTR_ADMIN_RO(last_error);

static struct attribute *attributes[] = {
	&dev_attr_attach.attr,
	&dev_attr_detach.attr,
	&dev_attr_registers.attr,
	&dev_attr_answers.attr,
	&dev_attr_up.attr,
	&dev_attr_links.attr,
	&dev_attr_ports.attr,
	&dev_attr_windows.attr,
	&dev_attr_memories.attr,
	&dev_attr_aperture_start.attr,
	&dev_attr_aperture_size.attr,
	&dev_attr_nodes.attr,
	&dev_attr_block_bytes.attr,
	&dev_attr_last_error.attr,
	NULL
};

static const struct attribute_group main_group = { .attrs = attributes };

#define COUNTER(name) DEVICE_VALUE(name, RO, "%d", atomic_read(&remap->name))

COUNTER(attached);
COUNTER(detached);
COUNTER(refused);
COUNTER(failed);
COUNTER(interrupts);
COUNTER(faults);
COUNTER(overflows);
COUNTER(link_downs);
COUNTER(pages_lost);

static struct attribute *counters[] = {
	&dev_attr_attached.attr,
	&dev_attr_detached.attr,
	&dev_attr_refused.attr,
	&dev_attr_failed.attr,
	&dev_attr_interrupts.attr,
	&dev_attr_faults.attr,
	&dev_attr_overflows.attr,
	&dev_attr_link_downs.attr,
	&dev_attr_pages_lost.attr,
	NULL
};

static const struct attribute_group counter_group = { .name = "counters", .attrs = counters };

/* Of the last fault; empty where there was none. */
#define OF_FAULT(name, mode, format, value)                                                                 \
	static ssize_t fault_##name##_show(struct device *dev, struct device_attribute *attr, char *text)   \
	{                                                                                                   \
		struct remap *remap = to_remap(dev);                                                        \
		ssize_t length = 0;                                                                         \
		int err = mutex_lock_interruptible(&remap->lock);                                           \
													    \
		if (err)                                                                                    \
			return err;                                                                         \
		if (remap->fault.logged)                                                                    \
			length = sysfs_emit(text, format "\n", value);                                      \
		mutex_unlock(&remap->lock);                                                                 \
		return length;                                                                              \
	}                                                                                                   \
	static struct device_attribute fault_##name = __ATTR(name, mode, fault_##name##_show, NULL)

OF_FAULT(block, 0444, "%s", remap->fault_block == REMAP_CBLOCK ? "cblock" : "mblock");
OF_FAULT(cause, 0444, "%u", remap->fault.cause);
OF_FAULT(access, 0444, "%s", remap->fault.write ? "store" : "load");
OF_FAULT(address, 0400, "%#llx", remap->fault.address);

static struct attribute *fault_attributes[] = {
	&fault_block.attr, &fault_cause.attr, &fault_access.attr, &fault_address.attr, NULL
};

static const struct attribute_group fault_group = { .name = "fault", .attrs = fault_attributes };

static ssize_t fault_show(struct device *dev, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%s\n", remap_fault_names[READ_ONCE(to_remap(dev)->model->fault)]);
}

static ssize_t fault_store(struct device *dev, struct device_attribute *attr, const char *text,
			   size_t length)
{
	struct remap *remap = to_remap(dev);
	int fault = sysfs_match_string(remap_fault_names, text);

	if (fault < 0)
		return fault;
	mutex_lock(&remap->lock);
	remap_model_set_fault(remap->model, fault);
	mutex_unlock(&remap->lock);
	remap_events_model(remap);
	return length;
}
static DEVICE_ATTR_ADMIN_RW(fault);

static ssize_t drain_reads_show(struct device *dev, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%u\n", READ_ONCE(to_remap(dev)->model->drain_reads));
}

static ssize_t drain_reads_store(struct device *dev, struct device_attribute *attr, const char *text,
				 size_t length)
{
	struct remap *remap = to_remap(dev);
	u32 reads;
	int err = kstrtou32(text, 0, &reads);

	if (err)
		return err;
	mutex_lock(&remap->lock);
	remap->model->drain_reads = reads;
	mutex_unlock(&remap->lock);
	return length;
}
static DEVICE_ATTR_ADMIN_RW(drain_reads);

/* An access that ends with an error: CAUSE ADDRESS, of a load. */
static ssize_t log_store(struct device *dev, struct device_attribute *attr, const char *text, size_t length)
{
	struct remap *remap = to_remap(dev);
	u64 address;
	u32 cause;

	if (sscanf(text, "%u %lli", &cause, &address) != 2 || !cause || cause >= REMAP_CAUSES)
		return -EINVAL;
	mutex_lock(&remap->lock);
	remap_model_log(remap->model, cause, false, address);
	mutex_unlock(&remap->lock);
	remap_events_model(remap);
	return length;
}
static DEVICE_ATTR_WO(log);

static struct attribute *model_attributes[] = {
	&dev_attr_fault.attr, &dev_attr_drain_reads.attr, &dev_attr_log.attr, NULL
};

static umode_t model_visible(struct kobject *kobj, struct attribute *attr, int index)
{
	return to_remap(kobj_to_dev(kobj))->model ? attr->mode : 0;
}

static const struct attribute_group model_group = {
	.name = "model",
	.attrs = model_attributes,
	.is_visible = model_visible,
};

const struct attribute_group *remap_groups[] = {
	&main_group, &counter_group, &fault_group, &model_group, NULL
};

static struct remap_segment *to_segment(struct kobject *kobj)
{
	return container_of(kobj, struct remap_segment, kobj);
}

#define SEGMENT_VALUE(name, mode, format, value)                                                            \
	static ssize_t segment_##name##_show(struct kobject *kobj, struct kobj_attribute *attr, char *text) \
	{                                                                                                   \
		struct remap_segment *segment = to_segment(kobj);                                           \
													    \
		return sysfs_emit(text, format "\n", value);                                                \
	}                                                                                                   \
	static struct kobj_attribute segment_##name = __ATTR(name, mode, segment_##name##_show, NULL)

SEGMENT_VALUE(address, 0400, "%#llx", segment->place.address);
SEGMENT_VALUE(size, 0444, "%llu", segment->place.size);
SEGMENT_VALUE(offset, 0400, "%#llx", segment->place.offset);
SEGMENT_VALUE(port, 0444, "%u", segment->place.port);
SEGMENT_VALUE(link, 0444, "%u", segment->place.link);
SEGMENT_VALUE(memory, 0444, "%u", segment->place.memory);
SEGMENT_VALUE(node, 0444, "%d", segment->node);
SEGMENT_VALUE(windows, 0444, "%u", segment->mapping.parts);
SEGMENT_VALUE(lost, 0444, "%d", atomic_read(&segment->lost));

static const char *state_of(const struct remap_segment *segment)
{
	switch (READ_ONCE(segment->state)) {
	case REMAP_ATTACHING:
		return "attaching";
	case REMAP_ATTACHED:
		return "attached";
	case REMAP_DETACHING:
		return "detaching";
	case REMAP_REMOVED:
		return "removed";
	case REMAP_DRAINING:
	case REMAP_FORGOTTEN:
		break;
	}
	return "draining";
}

SEGMENT_VALUE(state, 0444, "%s", state_of(segment));

static struct remap_online online_of(const struct remap_segment *segment)
{
	struct remap_online online;

	remap_memory_online(&segment->place, &online);
	return online;
}

SEGMENT_VALUE(online, 0444, "%llu", online_of(segment).bytes);
SEGMENT_VALUE(movable, 0444, "%llu", online_of(segment).movable);

static int counts(struct remap_segment *segment, u32 *reads, u32 *writes)
{
	struct remap *remap = segment->remap;
	int err = mutex_lock_interruptible(&remap->lock);

	if (err)
		return err;
	err = remap_table_counts(&remap->bus, &segment->place, &segment->mapping, reads, writes);
	mutex_unlock(&remap->lock);
	return err;
}

static ssize_t reads_show(struct kobject *kobj, struct kobj_attribute *attr, char *text)
{
	u32 reads, writes;
	int err = counts(to_segment(kobj), &reads, &writes);

	return err ?: sysfs_emit(text, "%u\n", reads);
}

static struct kobj_attribute segment_reads = __ATTR(reads, 0400, reads_show, NULL);

static ssize_t writes_show(struct kobject *kobj, struct kobj_attribute *attr, char *text)
{
	u32 reads, writes;
	int err = counts(to_segment(kobj), &reads, &writes);

	return err ?: sysfs_emit(text, "%u\n", writes);
}

static struct kobj_attribute segment_writes = __ATTR(writes, 0400, writes_show, NULL);

static struct attribute *segment_attrs[] = {
	&segment_address.attr,
	&segment_size.attr,
	&segment_offset.attr,
	&segment_port.attr,
	&segment_link.attr,
	&segment_memory.attr,
	&segment_node.attr,
	&segment_windows.attr,
	&segment_state.attr,
	&segment_online.attr,
	&segment_movable.attr,
	&segment_reads.attr,
	&segment_writes.attr,
	&segment_lost.attr,
	NULL
};
ATTRIBUTE_GROUPS(segment);

static void segment_release(struct kobject *kobj)
{
	kfree(to_segment(kobj));
}

struct kobj_type remap_segment_type = {
	.release = segment_release,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = segment_groups,
};
