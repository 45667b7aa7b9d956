// SPDX-License-Identifier: GPL-2.0-only
/* /sys/kernel/remap: attach, detach, segments, status, last_error, counters/, and model/ where there is one. */
#include <linux/memory.h>
#include <linux/sysfs.h>

#include "remap.h"

static ssize_t attach_store(struct kobject *kobj, struct kobj_attribute *attr, const char *text,
			    size_t length)
{
	int err = remap_attach(text, length);

	return err ?: length;
}

static ssize_t detach_store(struct kobject *kobj, struct kobj_attribute *attr, const char *text,
			    size_t length)
{
	int err = remap_detach(text, length);

	return err ?: length;
}

static ssize_t segments_show(struct kobject *kobj, struct kobj_attribute *attr, char *text)
{
	static const char *const states[] = {
		[REMAP_ATTACHING] = "attaching",
		[REMAP_ATTACHED] = "attached",
		[REMAP_DETACHING] = "detaching",
		[REMAP_DRAINING] = "draining",
	};
	const struct remap_segment *segment;
	int length = 0;
	int err = mutex_lock_interruptible(&remap.lock);

	if (err)
		return err;
	list_for_each_entry(segment, &remap.segments, list) {
		const struct remap_place *place = &segment->place;
		struct remap_online online;
		u32 reads = 0, writes = 0;

		remap_memory_online(place, &online);
		remap_table_counts(&remap.bus, place, &segment->mapping, &reads, &writes);
		length += sysfs_emit_at(text, length,
					"%s address=%#llx size=%llu offset=%#llx port=%u link=%u memory=%u node=%d "
					"state=%s online=%llu movable=%llu reads=%u writes=%u\n",
					segment->name, place->address, place->size, place->offset,
					place->port, place->link, place->memory, segment->node,
					states[segment->state], online.bytes, online.movable, reads,
					writes);
	}
	mutex_unlock(&remap.lock);
	return length;
}

static ssize_t status_show(struct kobject *kobj, struct kobj_attribute *attr, char *text)
{
	const struct remap_shape *shape = &remap.shape;
	u32 link, links = 0;
	bool up, answers = true;
	int err = mutex_lock_interruptible(&remap.lock);

	if (err)
		return err;
	for (link = 0; link < shape->cblock_links; link++) {
		if (remap_table_link(&remap.bus, link, &up))
			answers = false;
		else if (up)
			links |= 1U << link;
	}
	mutex_unlock(&remap.lock);
	return sysfs_emit(text,
			  "registers=%s\nanswers=%d\nlinks=%u\nup=%#x\nports=%u\nwindows=%u\nmemories=%u\n"
			  "aperture=%#llx+%llu\nblock_bytes=%lu\nnodes=%*pbl\n",
			  remap.model ? "model" : "hardware", answers, shape->cblock_links, links,
			  shape->ports, shape->windows, shape->memories, remap.aperture_start,
			  remap.aperture_size, memory_block_size_bytes(), nodemask_pr_args(&remap.nodes));
}

static ssize_t last_error_show(struct kobject *kobj, struct kobj_attribute *attr, char *text)
{
	int length;

	mutex_lock(&remap.last_lock);
	length = sysfs_emit(text, "%s\n", remap.last_error);
	mutex_unlock(&remap.last_lock);
	return length;
}

static struct kobj_attribute attach_attr = __ATTR(attach, 0200, NULL, attach_store);
static struct kobj_attribute detach_attr = __ATTR(detach, 0200, NULL, detach_store);
/* Physical addresses are for root alone. */
static struct kobj_attribute segments_attr = __ATTR(segments, 0400, segments_show, NULL);
static struct kobj_attribute status_attr = __ATTR(status, 0400, status_show, NULL);
static struct kobj_attribute last_error_attr = __ATTR(last_error, 0400, last_error_show, NULL);

static struct attribute *attributes[] = {
	&attach_attr.attr,     &detach_attr.attr, &segments_attr.attr, &status_attr.attr,
	&last_error_attr.attr, NULL,
};

static const struct attribute_group main_group = { .attrs = attributes };

#define COUNTER(name)                                                                             \
	static ssize_t name##_show(struct kobject *kobj, struct kobj_attribute *attr, char *text) \
	{                                                                                         \
		return sysfs_emit(text, "%d\n", atomic_read(&remap.name));                        \
	}                                                                                         \
	static struct kobj_attribute name##_attr = __ATTR_RO(name)

COUNTER(attached);
COUNTER(detached);
COUNTER(refused);
COUNTER(failed);

static struct attribute *counters[] = {
	&attached_attr.attr, &detached_attr.attr, &refused_attr.attr, &failed_attr.attr, NULL,
};

static const struct attribute_group counter_group = { .name = "counters", .attrs = counters };

const struct attribute_group *remap_groups[] = { &main_group, &counter_group, NULL };

static ssize_t fault_show(struct kobject *kobj, struct kobj_attribute *attr, char *text)
{
	return sysfs_emit(text, "%s\n", remap_fault_names[READ_ONCE(remap.model->fault)]);
}

static ssize_t fault_store(struct kobject *kobj, struct kobj_attribute *attr, const char *text,
			   size_t length)
{
	int fault = sysfs_match_string(remap_fault_names, text);

	if (fault < 0)
		return fault;
	mutex_lock(&remap.lock);
	remap.model->fault = fault;
	mutex_unlock(&remap.lock);
	return length;
}

static ssize_t drain_reads_show(struct kobject *kobj, struct kobj_attribute *attr, char *text)
{
	return sysfs_emit(text, "%u\n", READ_ONCE(remap.model->drain_reads));
}

static ssize_t drain_reads_store(struct kobject *kobj, struct kobj_attribute *attr, const char *text,
				 size_t length)
{
	u32 reads;
	int err = kstrtou32(text, 0, &reads);

	if (err)
		return err;
	mutex_lock(&remap.lock);
	remap.model->drain_reads = reads;
	mutex_unlock(&remap.lock);
	return length;
}

static struct kobj_attribute fault_attr = __ATTR(fault, 0600, fault_show, fault_store);
static struct kobj_attribute drain_reads_attr =
	__ATTR(drain_reads, 0600, drain_reads_show, drain_reads_store);

static struct attribute *model_attributes[] = { &fault_attr.attr, &drain_reads_attr.attr, NULL };

const struct attribute_group remap_model_group = { .name = "model", .attrs = model_attributes };
