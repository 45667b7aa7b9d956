// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the blocks' interrupts tell: links that went down, accesses that ended with an error. It is counted
 * and told to who waits for it, and pages whose line is lost are given up.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/interrupt.h>
#include <linux/kobject.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sysfs.h>

#include "remap.h"

/* After so many at once other threads have their turn; the line is high as long as there are more. */
#define AT_ONCE 16

/* Whose address it is. */
static struct remap_segment *segment_of(struct remap *remap, u64 address)
{
	struct remap_segment *segment;

	list_for_each_entry(segment, &remap->segments, list) {
		const struct remap_place *place = &segment->place;

		if (address >= place->address && address - place->address < place->size)
			return segment;
	}
	return NULL;
}

/*
 * Under the lock, so that no detach begins meanwhile. Programs that use the page end with SIGBUS at their
 * next access to it; one that is free is never given to anybody.
 */
static void give_up(struct remap *remap, struct remap_segment *segment, u64 address)
{
	int err;

	/* Once a detach has begun, the removal has the pages. */
	if (segment->state != REMAP_ATTACHED && segment->state != REMAP_ATTACHING)
		return;
	err = memory_failure(PHYS_PFN(address), 0);
	/* Lost before, or not online: nobody has it. */
	if (err == -EHWPOISON || err == -ENXIO)
		return;
	if (err)
		dev_err_ratelimited(&remap->dev, "%s: a page is lost, and the kernel keeps it in use (%d)\n",
				    segment->name, err);
	atomic_inc(&segment->lost);
	atomic_inc(&remap->pages_lost);
}

static void send(struct remap *remap, enum remap_block block, const char *kind, u32 cause,
		 const char *segment)
{
	char of_kind[32], of_block[32], of_cause[32], of_segment[16 + REMAP_NAME_BYTES];
	char *words[5] = { of_kind, of_block, of_cause, of_segment };

	if (!__ratelimit(&remap->telling))
		return;
	snprintf(of_kind, sizeof(of_kind), "REMAP_EVENT=%s", kind);
	snprintf(of_block, sizeof(of_block), "REMAP_BLOCK=%s", block == REMAP_CBLOCK ? "cblock" : "mblock");
	snprintf(of_cause, sizeof(of_cause), "REMAP_CAUSE=%u", cause);
	snprintf(of_segment, sizeof(of_segment), "REMAP_SEGMENT=%s", segment);
	kobject_uevent_env(&remap->dev.kobj, KOBJ_CHANGE, words);
}

static void tell(struct remap *remap, enum remap_block block, const struct remap_event *event,
		 const char *segment)
{
	struct kobject *kobj = &remap->dev.kobj;

	atomic_inc(&remap->interrupts);
	if (event->overflow)
		atomic_inc(&remap->overflows);
	if (event->logged) {
		atomic_inc(&remap->faults);
		sysfs_notify(kobj, "counters", "faults");
		send(remap, block, "fault", event->cause, segment);
	}
	/* Both blocks' bits are the same. A link has two ends, and goes down once. */
	if (event->causes & REMAP_CB_IRQ_STATUS_LINK_DOWN_MASK) {
		if (block == REMAP_CBLOCK)
			atomic_inc(&remap->link_downs);
		sysfs_notify(kobj, "counters", "link_downs");
		sysfs_notify(kobj, NULL, "up");
		send(remap, block, "link-down", 0, "");
	}
}

static bool take(struct remap_line *line, struct remap_event *event)
{
	struct remap *remap = line->remap;
	struct remap_segment *segment = NULL;
	char name[REMAP_NAME_BYTES] = "";
	int err;

	mutex_lock(&remap->lock);
	err = remap_table_event(&remap->bus, line->block, event);
	if (err) {
		/* A line that stays high would be served for ever. */
		remap_table_listen(&remap->bus, line->block, false);
		mutex_unlock(&remap->lock);
		dev_err_ratelimited(&remap->dev, "a block that raised its interrupt does not answer\n");
		return false;
	}
	if (!event->causes) {
		mutex_unlock(&remap->lock);
		return false;
	}
	if (event->logged) {
		remap->fault = *event;
		remap->fault_block = line->block;
		if (line->block == REMAP_CBLOCK)
			segment = segment_of(remap, event->address);
		if (segment)
			strscpy(name, segment->name, sizeof(name));
		if (segment && remap_table_lost(line->block, event))
			give_up(remap, segment, event->address);
	}
	mutex_unlock(&remap->lock);
	tell(remap, line->block, event, name);
	return true;
}

bool remap_events_take(struct remap_line *line)
{
	struct remap_event event;
	int left;

	for (left = AT_ONCE; left && take(line, &event); left--)
		;
	return left < AT_ONCE;
}

static void model_raised(struct work_struct *work)
{
	struct remap *remap = container_of(work, struct remap, model_raised);
	bool taken = false;
	int i;

	for (i = 0; i < 2; i++)
		taken |= remap_events_take(&remap->line[i]);
	if (taken)
		remap_events_model(remap);
}

void remap_events_model(struct remap *remap)
{
	bool raised;

	mutex_lock(&remap->lock);
	raised = remap_model_irq(remap->model, REMAP_CBLOCK) || remap_model_irq(remap->model, REMAP_MBLOCK);
	mutex_unlock(&remap->lock);
	if (raised)
		queue_work(system_unbound_wq, &remap->model_raised);
}

void remap_events_init(struct remap *remap)
{
	INIT_WORK(&remap->model_raised, model_raised);
}

int remap_events_start(struct remap *remap)
{
	int i, err = 0;

	mutex_lock(&remap->lock);
	for (i = 0; i < 2 && !err; i++) {
		if (remap->line[i].wired)
			err = remap_table_listen(&remap->bus, i, true);
	}
	mutex_unlock(&remap->lock);
	if (err)
		remap_events_stop(remap);
	return err;
}

void remap_events_stop(struct remap *remap)
{
	int i;

	mutex_lock(&remap->lock);
	for (i = 0; i < 2; i++) {
		if (remap->line[i].wired)
			remap_table_listen(&remap->bus, i, false);
	}
	mutex_unlock(&remap->lock);
}
