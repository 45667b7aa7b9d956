// SPDX-License-Identifier: GPL-2.0-only
/*
 * A segment as memory of this kernel: added, onlined by the kernel's policy, taken back within a bounded time.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/libnvdimm.h>
#include <linux/memory.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "remap.h"

int remap_memory_check(const struct remap_place *place, const char **why)
{
	struct range range = mhp_get_pluggable_range(true);

	if (!IS_ALIGNED(place->address | place->size, memory_block_size_bytes())) {
		*why = "address and size have to be multiples of the kernel's memory block (status: block_bytes)";
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
	struct remap_online online;
	int err;

	err = add_memory_driver_managed(segment->node, place->address, place->size,
					"System RAM (remap)", MHP_NONE);
	if (err == -EEXIST)
		*why = "the kernel has something else at these addresses (/proc/iomem)";
	else if (err)
		*why = "the kernel does not take the memory (its log says more)";
	if (err)
		return err;
	/* Memory in another zone could never be given back for certain. */
	remap_memory_online(place, &online);
	if (online.bytes == online.movable)
		return 0;
	err = remap_memory_remove(segment, why);
	if (err) {
		*why = "the memory was put into a kernel zone, and is in use there already";
		return -ENOTEMPTY;
	}
	*why = "the kernel's policy does not online memory movable: write online_movable to auto_online_blocks";
	return -EPERM;
}

struct removal {
	const struct remap_place *place;
	unsigned long deadline;
	struct completion done;
	int result;
};

static int removal_thread(void *data)
{
	struct removal *removal = data;
	int err;

	/* Off-lining goes on for as long as pages cannot be migrated; a signal ends it. */
	allow_signal(SIGINT);
	for (;;) {
		err = offline_and_remove_memory(removal->place->address, removal->place->size);
		if ((err != -EBUSY && err != -EAGAIN) || signal_pending(current) ||
		    time_after(jiffies, removal->deadline))
			break;
		/* What is busy for a moment only, as pages that compaction has isolated. */
		msleep_interruptible(20);
	}
	removal->result = err;
	kthread_complete_and_exit(&removal->done, 0);
}

int remap_memory_remove(const struct remap_segment *segment, const char **why)
{
	unsigned long limit = msecs_to_jiffies(remap_detach_timeout_ms);
	struct removal removal = { .place = &segment->place, .deadline = jiffies + limit };
	struct task_struct *thread;
	long left;

	init_completion(&removal.done);
	thread = kthread_create(removal_thread, &removal, "remap/%s", segment->name);
	if (IS_ERR(thread)) {
		*why = "no thread can be made";
		return PTR_ERR(thread);
	}
	get_task_struct(thread);
	wake_up_process(thread);
	left = wait_for_completion_killable_timeout(&removal.done, limit);
	if (left <= 0) {
		send_sig(SIGINT, thread, 1);
		wait_for_completion(&removal.done);
	}
	put_task_struct(thread);
	if (!removal.result)
		return 0;
	if (left < 0) {
		*why = "interrupted; its memory is as it was";
		return -EINTR;
	}
	if (removal.result == -EINTR || removal.result == -EBUSY || removal.result == -EAGAIN) {
		*why = "pages in use cannot be migrated (pinned, or of the kernel); its memory is as it was";
		return -EBUSY;
	}
	*why = removal.result == -ENOMEM ? "no memory to migrate pages in use to" :
					   "the kernel does not give the memory back (its log says more)";
	return removal.result;
}

/*
 * Before the windows close: the processor's caches may hold lines of this memory, and a line that is written back
 * later would come to a window that is closed, or to the next one there.
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
