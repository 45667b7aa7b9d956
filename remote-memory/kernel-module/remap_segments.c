// SPDX-License-Identifier: GPL-2.0-only
/*
 * Segments: attached, listed, detached, from any number of processes at once.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/numa.h>
#include <linux/slab.h>

#include "remap.h"

/* Counts and says why something was refused; `name` is one that was found good, or NULL. */
static int refuse(struct remap *remap, atomic_t *count, const char *what, const char *name,
		  const char *why, int err)
{
	atomic_inc(count);
	mutex_lock(&remap->last_lock);
	snprintf(remap->last_error, sizeof(remap->last_error), "%s%s%s: %s (%d)", what, name ? " " : "",
		 name ?: "", why, err);
	dev_notice_ratelimited(&remap->dev, "%s\n", remap->last_error);
	mutex_unlock(&remap->last_lock);
	return err;
}

static bool overlap(u64 first, u64 second, u64 first_size, u64 second_size)
{
	return first < second + second_size && second < first + first_size;
}

static struct remap_segment *find(struct remap *remap, const char *name)
{
	struct remap_segment *segment;

	lockdep_assert_held(&remap->lock);
	list_for_each_entry(segment, &remap->segments, list) {
		if (!strcmp(segment->name, name))
			return segment;
	}
	return NULL;
}

static int check_others(struct remap *remap, const struct remap_request *request, const char **why)
{
	const struct remap_place *want = &request->place;
	struct remap_segment *segment;

	list_for_each_entry(segment, &remap->segments, list) {
		const struct remap_place *place = &segment->place;

		*why = NULL;
		if (segment->state == REMAP_FORGOTTEN && strcmp(segment->name, request->name))
			continue;
		if (!strcmp(segment->name, request->name))
			*why = "a segment has this name";
		else if (overlap(place->address, want->address, place->size, want->size))
			*why = "another segment has some of these addresses";
		else if (place->link == want->link && place->memory == want->memory &&
			 overlap(place->offset, want->offset, place->size, want->size))
			*why = "another segment has some of this remote memory";
		if (*why)
			return -EEXIST;
	}
	return 0;
}

static int choose_node(const struct remap *remap, const struct remap_request *request, int *node,
		       const char **why)
{
	if (request->node == REMAP_ANY_NODE) {
		*node = phys_to_target_node(request->place.address);
		if (*node < 0 || !node_isset(*node, remap->nodes))
			*node = first_node(remap->nodes);
		if (*node < MAX_NUMNODES)
			return 0;
		*why = "no NUMA node is without processors and memory of its own; say node=";
		return -ENODEV;
	}
	*node = request->node;
	if (*node < MAX_NUMNODES && node_possible(*node))
		return 0;
	*why = "the machine has no such NUMA node";
	return -ENODEV;
}

static int check(struct remap *remap, const struct remap_request *request, const char **why)
{
	const struct remap_place *place = &request->place;
	int err = remap_table_check(&remap->shape, place, why);

	if (err)
		return err;
	if (place->address < remap->aperture_start || place->size > remap->aperture_size ||
	    place->address - remap->aperture_start > remap->aperture_size - place->size) {
		*why = "outside the aperture (aperture_start, aperture_size)";
		return -ERANGE;
	}
	err = remap_memory_check(place, why);
	if (err)
		return err;
	return check_others(remap, request, why);
}

/* The folder's last reader is gone. */
static void forget(struct remap_segment *segment)
{
	struct remap *remap = segment->remap;

	kobject_del(&segment->kobj);
	mutex_lock(&remap->lock);
	list_del(&segment->list);
	mutex_unlock(&remap->lock);
	kobject_put(&segment->kobj);
	module_put(THIS_MODULE);
}

/* Closes the windows, and has the segment forgotten once the blocks have nothing more of it. */
static int retire(struct remap_segment *segment, const char **why)
{
	struct remap *remap = segment->remap;
	unsigned long deadline = jiffies + msecs_to_jiffies(remap_drain_timeout_ms);
	int err, looks = 0;

	lockdep_assert_held(&remap->lock);
	segment->state = REMAP_DRAINING;
	err = remap_table_close(&remap->bus, &segment->place, &segment->mapping, why);
	while (!err) {
		/* Time passes also while this processor is not run: then the blocks had none either. */
		bool last = ++looks > 100 && time_after(jiffies, deadline);

		err = remap_table_drained(&remap->bus, &segment->place, why);
		if (err != -EBUSY)
			break;
		if (last)
			return -ETIMEDOUT;
		usleep_range(50, 200);
		err = 0;
	}
	if (!err)
		segment->state = REMAP_FORGOTTEN;
	return err;
}

/* Under the lock: the windows, and an entry in the list. */
static int open_windows(struct remap *remap, const struct remap_request *request,
			struct remap_segment *segment, const char **why)
{
	int err;

	if (remap->closing) {
		*why = "the device is going";
		return -ENODEV;
	}
	err = check(remap, request, why);
	if (!err)
		err = choose_node(remap, request, &segment->node, why);
	if (err)
		return err;
	segment->remap = remap;
	segment->state = REMAP_ATTACHING;
	segment->place = request->place;
	memcpy(segment->name, request->name, sizeof(segment->name));
	err = remap_table_open(&remap->bus, &remap->shape, &segment->place, &segment->mapping, why);
	if (!err)
		list_add_tail(&segment->list, &remap->segments);
	return err;
}

/* Takes back memory that was onlined as other than movable: it could never be given back for certain. */
static int undo(struct remap_segment *segment, const char **why)
{
	const char *ignored;

	mutex_lock(&segment->remap->lock);
	segment->state = REMAP_DETACHING;
	mutex_unlock(&segment->remap->lock);
	if (remap_memory_remove(segment, &ignored)) {
		*why = "the memory was put into a kernel zone, and is in use there already";
		return -ENOTEMPTY;
	}
	*why = "the policy does not online memory movable: write online_movable to auto_online_blocks";
	return -EPERM;
}

static int add_memory_of(struct remap_segment *segment, const char **why)
{
	struct remap_online online;
	int err = kobject_add(&segment->kobj, segment->remap->folder, "%s", segment->name);

	if (err) {
		*why = "its folder in segments/ cannot be made";
		return err;
	}
	err = remap_memory_add(segment, why);
	if (err)
		return err;
	remap_memory_online(&segment->place, &online);
	return online.bytes == online.movable ? 0 : undo(segment, why);
}

int remap_attach(struct remap *remap, const char *text, size_t length)
{
	static const char what[] = "attach";
	struct remap_request request;
	struct remap_segment *segment;
	const char *why = "out of memory", *ignored;
	bool forgotten = false;
	int err;

	err = remap_parse_attach(text, length, &request, &why);
	if (err)
		return refuse(remap, &remap->refused, what, NULL, why, err);
	/* Held for as long as there is the segment. */
	if (!try_module_get(THIS_MODULE))
		return refuse(remap, &remap->refused, what, request.name, "the module is being removed",
			      -ENODEV);
	segment = kzalloc(sizeof(*segment), GFP_KERNEL);
	if (segment)
		kobject_init(&segment->kobj, &remap_segment_type);
	err = segment ? mutex_lock_interruptible(&remap->lock) : -ENOMEM;
	if (!err) {
		err = open_windows(remap, &request, segment, &why);
		mutex_unlock(&remap->lock);
	}
	if (err) {
		if (segment)
			kobject_put(&segment->kobj);
		module_put(THIS_MODULE);
		return err == -EINTR ? err : refuse(remap, &remap->refused, what, request.name, why, err);
	}

	err = add_memory_of(segment, &why);
	mutex_lock(&remap->lock);
	/* Its pages are in use: it stays, to be detached later. */
	if (!err || err == -ENOTEMPTY)
		segment->state = REMAP_ATTACHED;
	else if (retire(segment, &ignored))
		dev_warn(&remap->dev, "%s: its windows are not free yet (%s): detach it\n", request.name,
			 ignored);
	else
		forgotten = true;
	mutex_unlock(&remap->lock);
	if (forgotten)
		forget(segment);
	if (err)
		return refuse(remap, &remap->refused, what, request.name, why, err);
	atomic_inc(&remap->attached);
	dev_info(&remap->dev, "%s: attached\n", request.name);
	return 0;
}

/* Takes the segment for this detach: nobody else changes it then. 1: only its windows are left to close. */
static int begin_detach(struct remap_segment *segment, bool *up, const char **why)
{
	struct remap *remap = segment->remap;
	struct remap_online online;

	if (segment->state == REMAP_DRAINING)
		return 1;
	if (segment->state != REMAP_ATTACHED && segment->state != REMAP_REMOVED) {
		*why = "the segment is being attached or detached";
		return -EBUSY;
	}
	if (remap_table_link(&remap->bus, segment->place.link, up)) {
		*why = "a register access ended with an error";
		return -EIO;
	}
	remap_memory_online(&segment->place, &online);
	if (!*up && online.bytes) {
		*why = "the link is down: pages in use cannot be read, so not migrated";
		return -ENOLINK;
	}
	segment->removed = segment->state == REMAP_REMOVED;
	segment->state = REMAP_DETACHING;
	return 0;
}

/* Gives the memory back and clears it, without the lock: what has been done is not done again. */
static int give_back(struct remap_segment *segment, bool up, const char **why)
{
	int err;

	if (!segment->removed) {
		err = remap_memory_remove(segment, why);
		if (err)
			return err;
		segment->removed = true;
	}
	if (!up) {
		if (remap_scrub)
			dev_warn(&segment->remap->dev, "%s: not zeroed: the link is down\n", segment->name);
		return 0;
	}
	err = remap_memory_clear(&segment->place, remap_scrub);
	if (err)
		*why = "its memory is given back, but there is no room to map and clear it: detach it again";
	return err;
}

/* With the lock held, which it gives up. */
static int detach(struct remap_segment *segment, const char **why)
{
	struct remap *remap = segment->remap;
	bool up = false;
	int err = begin_detach(segment, &up, why);

	if (!err) {
		mutex_unlock(&remap->lock);
		err = give_back(segment, up, why);
		mutex_lock(&remap->lock);
		if (err)
			segment->state = segment->removed ? REMAP_REMOVED : REMAP_ATTACHED;
		else
			err = 1;
	}
	if (err == 1)
		err = retire(segment, why);
	mutex_unlock(&remap->lock);
	if (!err)
		forget(segment);
	return err;
}

int remap_detach(struct remap *remap, const char *text, size_t length)
{
	static const char what[] = "detach";
	char name[REMAP_NAME_BYTES];
	struct remap_segment *segment;
	const char *why;
	int err;

	err = remap_parse_name(text, length, name, &why);
	if (err)
		return refuse(remap, &remap->refused, what, NULL, why, err);
	err = mutex_lock_interruptible(&remap->lock);
	if (err)
		return err;
	segment = find(remap, name);
	if (!segment) {
		mutex_unlock(&remap->lock);
		return refuse(remap, &remap->refused, what, name, "there is no such segment", -ENOENT);
	}
	err = detach(segment, &why);
	if (err)
		return refuse(remap, &remap->failed, what, name, why, err);
	atomic_inc(&remap->detached);
	dev_info(&remap->dev, "%s: detached\n", name);
	return 0;
}

unsigned int remap_detach_all(struct remap *remap)
{
	struct remap_segment *segment, *next;
	unsigned int left = 0;
	const char *why;

	for (;;) {
		next = NULL;
		mutex_lock(&remap->lock);
		list_for_each_entry(segment, &remap->segments, list) {
			if (!segment->stays)
				next = segment;
		}
		if (!next) {
			mutex_unlock(&remap->lock);
			return left;
		}
		next->stays = true;
		if (detach(next, &why)) {
			dev_err(&remap->dev, "%s: %s\n", next->name, why);
			left++;
		}
	}
}
