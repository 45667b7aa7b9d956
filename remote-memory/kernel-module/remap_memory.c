// SPDX-License-Identifier: GPL-2.0-only
/*
 * A segment as memory of this kernel: added, onlined by the kernel's policy, taken back in a bounded time.
 */
#include <linux/bitmap.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/jiffies.h>
#include <linux/libnvdimm.h>
#include <linux/memory.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/page-isolation.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "remap.h"

int remap_memory_check(const struct remap_place *place, const char **why)
{
	struct range range = mhp_get_pluggable_range(true);

	if (!IS_ALIGNED(place->address | place->size, memory_block_size_bytes())) {
		*why = "address and size have to be multiples of the kernel's memory block (block_bytes)";
		return -EINVAL;
	}
	if (place->address < range.start || place->address + place->size - 1 > range.end) {
		*why = "the kernel cannot map memory there";
		return -ERANGE;
	}
	return 0;
}

void remap_memory_online(const struct remap_place *place, struct remap_online *online)
{
	unsigned long pfn, end = PHYS_PFN(place->address + place->size);

	online->bytes = 0;
	online->movable = 0;
	/* What is online is so by whole sections. */
	for (pfn = PHYS_PFN(place->address); pfn < end; pfn += PAGES_PER_SECTION) {
		struct page *page = pfn_to_online_page(pfn);

		if (!page)
			continue;
		online->bytes += (u64)PAGES_PER_SECTION << PAGE_SHIFT;
		if (page_zonenum(page) == ZONE_MOVABLE)
			online->movable += (u64)PAGES_PER_SECTION << PAGE_SHIFT;
	}
}

int remap_memory_add(const struct remap_segment *segment, const char **why)
{
	const struct remap_place *place = &segment->place;
	int err = add_memory_driver_managed(segment->node, place->address, place->size,
					    "System RAM (remap)", MHP_NONE);

	if (err == -EEXIST)
		*why = "the kernel has something else at these addresses (/proc/iomem)";
	else if (err)
		*why = "the kernel does not take the memory (its log says more)";
	return err;
}

/*
 * A segment whose memory goes. offline_and_remove_memory() alone would not end while a page stays pinned, so
 * all pages are taken first, as virtio-mem does: alloc_contig_range() migrates or gives up. What is taken is
 * then off-lined at once, and freed again where that fails. Pages that were lost stay as they are: nobody can
 * take them, and off-lining passes over them.
 */
struct removal {
	struct list_head list;
	struct task_struct *task;
	unsigned long start, end; /* page frames */
	unsigned long *taken; /* a bit for each */
	/* A block that is going off-line, and whose pages were handed over for it. */
	unsigned long going_start, going_end;
};

static LIST_HEAD(removals);
static DEFINE_MUTEX(removals_lock);

static void count_pages(const struct removal *removal, unsigned long start, unsigned long end, bool hold)
{
	unsigned long pfn;

	for (pfn = start; pfn < end; pfn++) {
		struct page *page = pfn_to_page(pfn);

		if (!test_bit(pfn - removal->start, removal->taken))
			continue;
		if (hold)
			page_ref_inc(page);
		else
			WARN_ON(!page_ref_dec_and_test(page));
	}
}

/* The kernel off-lines a block of pages that are taken once nobody holds them. */
static int going_offline(struct removal *removal, unsigned long start, unsigned long end)
{
	/* Somebody else does it, and the pages are ours. */
	if (removal->task != current)
		return -EBUSY;
	count_pages(removal, start, end, false);
	removal->going_start = start;
	removal->going_end = end;
	return 0;
}

static int memory_event(struct notifier_block *block, unsigned long action, void *data)
{
	const struct memory_notify *arg = data;
	unsigned long start = arg->start_pfn, end = start + arg->nr_pages;
	struct removal *removal;
	int err = 0;

	mutex_lock(&removals_lock);
	list_for_each_entry(removal, &removals, list) {
		if (start < removal->start || end > removal->end)
			continue;
		if (action == MEM_GOING_OFFLINE) {
			err = going_offline(removal, start, end);
		} else if (removal->going_start == start && removal->going_end == end) {
			if (action == MEM_CANCEL_OFFLINE)
				count_pages(removal, start, end, true);
			else if (action == MEM_OFFLINE)
				bitmap_clear(removal->taken, start - removal->start, end - start);
			else
				continue;
			removal->going_end = 0;
		}
	}
	mutex_unlock(&removals_lock);
	return notifier_from_errno(err);
}

static struct notifier_block listener = { .notifier_call = memory_event };

int remap_memory_listen(void)
{
	return register_memory_notifier(&listener);
}

void remap_memory_deaf(void)
{
	unregister_memory_notifier(&listener);
}

static bool to_take(const struct removal *removal, unsigned long pfn)
{
	struct page *page = pfn_to_online_page(pfn);

	return page && !PageHWPoison(page) && !test_bit(pfn - removal->start, removal->taken);
}

static int take_run(struct removal *removal, unsigned long start, unsigned long end)
{
	int err = alloc_contig_range(start, end, MIGRATE_MOVABLE, GFP_KERNEL);
	unsigned long pfn;

	if (err)
		return err;
	page_offline_begin();
	for (pfn = start; pfn < end; pfn++)
		__SetPageOffline(pfn_to_page(pfn));
	page_offline_end();
	bitmap_set(removal->taken, start - removal->start, end - start);
	return 0;
}

/* All pages that are online, in runs of one zone each. */
static int take_pages(struct removal *removal)
{
	unsigned long pfn = removal->start;

	while (pfn < removal->end) {
		unsigned long end = pfn + 1;
		int err;

		if (!to_take(removal, pfn)) {
			pfn++;
			continue;
		}
		while (end < removal->end && to_take(removal, end) &&
		       page_zone(pfn_to_page(end)) == page_zone(pfn_to_page(pfn)))
			end++;
		err = take_run(removal, pfn, end);
		if (err)
			return err;
		pfn = end;
		cond_resched();
	}
	return 0;
}

static void give_pages(struct removal *removal)
{
	unsigned long bits = removal->end - removal->start, first, end, pfn;

	for_each_set_bitrange(first, end, removal->taken, bits) {
		for (pfn = removal->start + first; pfn < removal->start + end; pfn++)
			__ClearPageOffline(pfn_to_page(pfn));
		free_contig_range(removal->start + first, end - first);
		cond_resched();
	}
}

static int try_removal(struct removal *removal, const struct remap_place *place)
{
	int err = take_pages(removal);

	return err ?: offline_and_remove_memory(place->address, place->size);
}

int remap_memory_remove(const struct remap_segment *segment, const char **why)
{
	const struct remap_place *place = &segment->place;
	unsigned long deadline = jiffies + msecs_to_jiffies(remap_detach_timeout_ms);
	struct removal removal = {
		.task = current,
		.start = PHYS_PFN(place->address),
		.end = PHYS_PFN(place->address + place->size),
	};
	int err;

	removal.taken = kvcalloc(BITS_TO_LONGS(removal.end - removal.start), sizeof(long), GFP_KERNEL);
	if (!removal.taken) {
		*why = "out of memory; its memory is as it was";
		return -ENOMEM;
	}
	mutex_lock(&removals_lock);
	list_add(&removal.list, &removals);
	mutex_unlock(&removals_lock);
	for (;;) {
		err = try_removal(&removal, place);
		if (err != -EBUSY && err != -EAGAIN && err != -ENOMEM)
			break;
		if (time_after(jiffies, deadline))
			break;
		/* What is busy for a moment only, as pages that compaction has isolated. */
		schedule_timeout_killable(msecs_to_jiffies(20));
		if (fatal_signal_pending(current)) {
			err = -EINTR;
			break;
		}
	}
	if (err)
		give_pages(&removal);
	mutex_lock(&removals_lock);
	list_del(&removal.list);
	mutex_unlock(&removals_lock);
	kvfree(removal.taken);
	if (err == -EINTR)
		*why = "interrupted; its memory is as it was";
	else if (err == -EBUSY || err == -EAGAIN)
		*why = "pages in use cannot be migrated (pinned, or of the kernel); its memory is as it was";
	else if (err == -ENOMEM)
		*why = "no memory to migrate pages in use to; its memory is as it was";
	else if (err)
		*why = "the kernel does not give the memory back (its log says more)";
	return err == -EAGAIN ? -EBUSY : err;
}

/*
 * Before the windows close: the processor's caches may hold lines of this memory, and a line that is written
 * back later would come to a window that is closed, or to the next one there.
 */
int remap_memory_clear(const struct remap_place *place, bool zero)
{
	const u64 step = SZ_16M;
	u64 done;

	for (done = 0; done < place->size; done += step) {
		size_t bytes = min_t(u64, step, place->size - done);
		void *at = memremap(place->address + done, bytes, MEMREMAP_WB);

		if (!at)
			return -ENOMEM;
		if (zero)
			memset(at, 0, bytes);
		arch_wb_cache_pmem(at, bytes);
		arch_invalidate_pmem(at, bytes);
		memunmap(at);
		cond_resched();
	}
	return 0;
}
