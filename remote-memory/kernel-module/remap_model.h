/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The registers of a cBlock and an mBlock in RAM, for emulation: what the table of windows accepts and
 * refuses, accesses that take some looks at the fence to drain, faults and their interrupts. It moves no
 * data: where a window shows memory, that has to be RAM of the machine itself.
 */
#ifndef REMAP_MODEL_H
#define REMAP_MODEL_H

#include "remap_table.h"

#define REMAP_MODEL_WORDS 1024

enum remap_fault {
	REMAP_FAULT_NONE,
	REMAP_FAULT_LINK_DOWN, /* no link is up */
	REMAP_FAULT_NEVER_DRAINED, /* the fence stays set */
	REMAP_FAULT_BUS_ERROR, /* every access ends with an error */
	REMAP_FAULT_STUCK_WINDOW, /* windows ignore what is written */
	REMAP_FAULT_ALL_ONES, /* every read is answered with ones: nobody is there */
	REMAP_FAULTS
};

struct remap_model {
	u32 value[2][REMAP_MODEL_WORDS];
	u32 mask[2][REMAP_MODEL_WORDS]; /* the bits that a write changes */
	u8 there[2][REMAP_MODEL_WORDS]; /* 0: no register, 1: to read, 2: to write as well */
	struct remap_shape shape;
	enum remap_fault fault;
	u32 drain_reads; /* how often the fence reads as set before it is passed */
	u32 draining[REMAP_CB_MAX_PORTS];
};

extern const char *const remap_fault_names[REMAP_FAULTS];

void remap_model_reset(struct remap_model *model, const struct remap_shape *shape);

/* Takes the links down or up, as a fault has it; their going down is a cause of both interrupts. */
void remap_model_set_fault(struct remap_model *model, enum remap_fault fault);

/* An access at a cBlock that ended with an error, as its log tells of it. */
void remap_model_log(struct remap_model *model, u32 cause, bool write, u64 address);

/* Whether the block's interrupt line is high. */
bool remap_model_irq(const struct remap_model *model, enum remap_block block);

/* The bus of a model; `context` is the model. */
int remap_model_read(void *context, enum remap_block block, u32 at, u32 *value);
int remap_model_write(void *context, enum remap_block block, u32 at, u32 value);

#endif
