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
static int refuse(atomic_t *count, const char *what, const char *name, const char *why, int err)
{
	atomic_inc(count);
	mutex_lock(&remap.last_lock);
	snprintf(remap.last_error, sizeof(remap.last_error), "%s%s%s: %s (%d)", what, name ? " " : "",
		 name ?: "", why, err);
	pr_notice_ratelimited("%s\n", remap.last_error);
	mutex_unlock(&remap.last_lock);
	return err;
}

static bool overlap(u64 first, u64 second, u64 first_size, u64 second_size)
{
	return first < second + second_size && second < first + first_size;
}

static struct remap_segment *find(const char *name)
{
	struct remap_segment *segment;

	lockdep_assert_held(&remap.lock);
	list_for_each_entry(segment, &remap.segments, list) {
		if (!strcmp(segment->name, name))
			return segment;
	}
	return NULL;
}

static int check_others(const struct remap_request *request, const char **why)
{
	const struct remap_place *want = &request->place;
	struct remap_segment *segment;

	list_for_each_entry(segment, &remap.segments, list) {
		const struct remap_place *place = &segment->place;

		*why = NULL;
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

static int choose_node(const struct remap_request *request, int *node, const char **why)
{
	if (request->node == REMAP_ANY_NODE) {
		*node = phys_to_target_node(request->place.address);
		if (*node < 0 || !node_isset(*node, remap.nodes))
			*node = first_node(remap.nodes);
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

static int check(const struct remap_request *request, const char **why)
{
	const struct remap_place *place = &request->place;
	int err = remap_table_check(&remap.shape, place, why);

	if (err)
		return err;
	if (place->address < remap.aperture_start || place->size > remap.aperture_size ||
	    place->address - remap.aperture_start > remap.aperture_size - place->size) {
		*why = "outside the aperture (status: aperture)";
		return -ERANGE;
	}
	err = remap_memory_check(place, why);
	if (err)
		return err;
	return check_others(request, why);
}

/* Closes the windows and forgets the segment once the blocks have nothing more of it. */
static int retire(struct remap_segment *segment, const char **why)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(remap_drain_timeout_ms);
	int err, looks = 0;

	lockdep_assert_held(&remap.lock);
	segment->state = REMAP_DRAINING;
	err = remap_table_close(&remap.bus, &segment->place, &segment->mapping, why);
	while (!err) {
		/* Time passes also while this processor is not run: then the blocks had none either. */
		bool last = ++looks > 100 && time_after(jiffies, deadline);

		err = remap_table_drained(&remap.bus, &segment->place, why);
		if (err != -EBUSY)
			break;
		if (last)
			return -ETIMEDOUT;
		usleep_range(50, 200);
		err = 0;
	}
	if (err)
		return err;
	list_del(&segment->list);
	kfree(segment);
	module_put(THIS_MODULE);
	return 0;
}

/* Under the lock: the windows, and an entry in the list. */
static int open_windows(const struct remap_request *request, struct remap_segment *segment,
			const char **why)
{
	int err = check(request, why);

	if (!err)
		err = choose_node(request, &segment->node, why);
	if (err)
		return err;
	segment->state = REMAP_ATTACHING;
	segment->place = request->place;
	memcpy(segment->name, request->name, sizeof(segment->name));
	err = remap_table_open(&remap.bus, &remap.shape, &segment->place, &segment->mapping, why);
	if (!err)
		list_add_tail(&segment->list, &remap.segments);
	return err;
}

int remap_attach(const char *text, size_t length)
{
	static const char what[] = "attach";
	struct remap_request request;
	struct remap_segment *segment;
	const char *why = "out of memory", *ignored;
	int err;

	err = remap_parse_attach(text, length, &request, &why);
	if (err)
		return refuse(&remap.refused, what, NULL, why, err);
	/* Held for as long as there is the segment. */
	if (!try_module_get(THIS_MODULE))
		return refuse(&remap.refused, what, request.name, "the module is being removed", -ENODEV);
	segment = kzalloc(sizeof(*segment), GFP_KERNEL);
	err = segment ? mutex_lock_interruptible(&remap.lock) : -ENOMEM;
	if (!err) {
		err = open_windows(&request, segment, &why);
		mutex_unlock(&remap.lock);
	}
	if (err) {
		kfree(segment);
		module_put(THIS_MODULE);
		return err == -EINTR ? err : refuse(&remap.refused, what, request.name, why, err);
	}

	err = remap_memory_add(segment, &why);
	mutex_lock(&remap.lock);
	/* Its pages are in use: it stays, to be detached later. */
	if (!err || err == -ENOTEMPTY)
		segment->state = REMAP_ATTACHED;
	else if (retire(segment, &ignored))
		pr_warn("%s: its windows are not free yet (%s): detach it\n", request.name, ignored);
	mutex_unlock(&remap.lock);
	if (err)
		return refuse(&remap.refused, what, request.name, why, err);
	atomic_inc(&remap.attached);
	pr_info("%s: attached\n", request.name);
	return 0;
}

/* Takes the segment for this detach: nobody else changes it then. 1: only its windows are left to close. */
static int begin_detach(const char *name, struct remap_segment **found, bool *up, const char **why)
{
	struct remap_segment *segment = find(name);
	struct remap_online online;

	if (!segment) {
		*why = "there is no such segment";
		return -ENOENT;
	}
	*found = segment;
	if (segment->state == REMAP_DRAINING)
		return 1;
	if (segment->state != REMAP_ATTACHED) {
		*why = "the segment is being attached or detached";
		return -EBUSY;
	}
	if (remap_table_link(&remap.bus, segment->place.link, up)) {
		*why = "a register access ended with an error";
		return -EIO;
	}
	remap_memory_online(&segment->place, &online);
	if (!*up && online.bytes) {
		*why = "the link is down: pages in use cannot be read, so not migrated";
		return -ENOLINK;
	}
	segment->state = REMAP_DETACHING;
	return 0;
}

int remap_detach(const char *text, size_t length)
{
	static const char what[] = "detach";
	char name[REMAP_NAME_BYTES];
	struct remap_segment *segment;
	const char *why;
	bool up = false;
	int err;

	err = remap_parse_name(text, length, name, &why);
	if (err)
		return refuse(&remap.refused, what, NULL, why, err);
	err = mutex_lock_interruptible(&remap.lock);
	if (err)
		return err;
	err = begin_detach(name, &segment, &up, &why);
	if (!err) {
		mutex_unlock(&remap.lock);
		err = remap_memory_remove(segment, &why);
		if (!err && up && remap_memory_clear(&segment->place, remap_scrub))
			pr_warn("%s: not cleared: no room to map it\n", name);
		else if (!err && !up && remap_scrub)
			pr_warn("%s: not zeroed: the link is down\n", name);
		mutex_lock(&remap.lock);
		if (err)
			segment->state = REMAP_ATTACHED;
		else
			err = 1;
	}
	if (err == 1)
		err = retire(segment, &why);
	mutex_unlock(&remap.lock);
	if (err)
		return refuse(err == -ENOENT ? &remap.refused : &remap.failed, what, name, why, err);
	atomic_inc(&remap.detached);
	pr_info("%s: detached\n", name);
	return 0;
}
