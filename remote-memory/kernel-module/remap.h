/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the module among themselves. */
#ifndef REMAP_H
#define REMAP_H

#include <linux/atomic.h>
#include <linux/device.h>
#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/ratelimit.h>
#include <linux/workqueue.h>

#include "remap_model.h"
#include "remap_parse.h"
#include "remap_table.h"

struct remap;

enum remap_state {
	REMAP_ATTACHING,
	REMAP_ATTACHED,
	REMAP_DETACHING, /* its memory is being given back */
	REMAP_REMOVED, /* its memory is given back, not cleared yet */
	REMAP_DRAINING, /* its windows are closed; the blocks still have accesses of it */
	REMAP_FORGOTTEN, /* nothing is left but its folder */
};

/* A folder of segments/. The list and the folder hold it; whoever takes it off the list puts the folder. */
struct remap_segment {
	struct kobject kobj;
	struct remap *remap;
	struct list_head list;
	enum remap_state state;
	char name[REMAP_NAME_BYTES];
	struct remap_place place;
	struct remap_mapping mapping;
	int node;
	bool removed; /* from the kernel, while it is being detached */
	bool stays; /* the device goes, and it was tried to detach it */
	atomic_t lost; /* pages */
};

/* An interrupt line of one of the two blocks. */
struct remap_line {
	struct remap *remap;
	enum remap_block block;
	bool wired;
};

/* A cBlock, its mBlock and the addresses that they serve: one platform device. */
struct remap {
	struct device dev; /* of class remap; holds this structure */
	int id;
	/*
	 * Over the registers and the list. Not held while memory is added or removed: that takes the
	 * kernel's locks of memory hotplug, and long. A segment's state keeps others off it meanwhile.
	 * Not held while a folder is removed: that waits for readers, who take it.
	 */
	struct mutex lock;
	bool closing; /* no segment comes any more */
	struct list_head segments;
	struct kobject *folder; /* segments/ */
	struct remap_bus bus;
	struct remap_shape shape;
	u32 enabled_before[2];
	u64 aperture_start, aperture_size;
	/* Nodes that had neither processors nor memory when the device was found: for remote memory. */
	nodemask_t nodes;
	struct remap_model *model; /* NULL on hardware */
	void __iomem *registers[2];
	struct remap_line line[2];
	struct work_struct model_raised; /* stands for the lines of a model */
	struct ratelimit_state telling;
	/* The last fault of which a log told, under the lock. */
	struct remap_event fault;
	enum remap_block fault_block;
	atomic_t attached, detached, refused, failed;
	atomic_t interrupts, faults, overflows, link_downs, pages_lost;
	/* Under its own lock: it is written also where the other is not to be had. */
	struct mutex last_lock;
	char last_error[192];
};

static inline struct remap *to_remap(struct device *dev)
{
	return container_of(dev, struct remap, dev);
}

/* remap_main.c */
extern unsigned int remap_detach_timeout_ms, remap_drain_timeout_ms;
extern bool remap_scrub;

/* remap_model_device.c: a platform device whose registers are a model, where model= asks for one. */
int remap_model_register(void);
void remap_model_unregister(void);
struct remap_model *remap_model_of(struct device *parent);
bool remap_model_device(struct device *parent);

/* remap_segments.c: what is written to `attach` and `detach`. 0 or a negative error number. */
int remap_attach(struct remap *remap, const char *text, size_t length);
int remap_detach(struct remap *remap, const char *text, size_t length);
/* Detaches all of them; how many stay, whose pages in use cannot be migrated. */
unsigned int remap_detach_all(struct remap *remap);

/* remap_memory.c: the segment as memory of this kernel. */
struct remap_online {
	u64 bytes; /* online */
	u64 movable; /* of these, in ZONE_MOVABLE */
};

int remap_memory_check(const struct remap_place *place, const char **why);
int remap_memory_add(const struct remap_segment *segment, const char **why);
int remap_memory_remove(const struct remap_segment *segment, const char **why);
void remap_memory_online(const struct remap_place *place, struct remap_online *online);
int remap_memory_clear(const struct remap_place *place, bool zero);
int remap_memory_listen(void);
void remap_memory_deaf(void);

/* remap_events.c: what the blocks' interrupts tell. */
void remap_events_init(struct remap *remap);
int remap_events_start(struct remap *remap);
void remap_events_stop(struct remap *remap);
/* Takes what a block has to tell; whether there was anything. In a thread. */
bool remap_events_take(struct remap_line *line);
/* After a change of the model: as its interrupt lines would. */
void remap_events_model(struct remap *remap);

/* remap_sysfs.c */
extern const struct attribute_group *remap_groups[];
extern struct kobj_type remap_segment_type;

#endif
