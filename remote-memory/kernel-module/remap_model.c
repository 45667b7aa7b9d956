// SPDX-License-Identifier: GPL-2.0-only
/*
 * A model of the blocks' registers. Compiles in the kernel and as an ordinary program.
 */
#include "remap_model.h"

const char *const remap_fault_names[REMAP_FAULTS] = {
	"none", "link-down", "never-drained", "bus-error", "stuck-window", "all-ones",
};

enum array { NONE, LINK, PORT, WINDOW, LINK_TABLE, SEGMENT };

struct row {
	u32 at, mask, reset, writable;
	enum array outer;
	u32 outer_stride;
	enum array inner;
	u32 inner_stride;
};

#define ROW(...) { __VA_ARGS__ },

static const struct row cblock_rows[] = { REMAP_CB_REGISTERS(ROW) };
static const struct row mblock_rows[] = { REMAP_MB_REGISTERS(ROW) };

static u32 count_of(const struct remap_shape *shape, enum remap_block block, enum array array)
{
	switch (array) {
	case LINK:
		return block == REMAP_CBLOCK ? shape->cblock_links : shape->mblock_links;
	case LINK_TABLE:
		return shape->mblock_links;
	case PORT:
		return shape->ports;
	case WINDOW:
		return shape->windows;
	case SEGMENT:
		return shape->segments;
	case NONE:
		break;
	}
	return 1;
}

static void lay_out(struct remap_model *model, enum remap_block block, const struct row *rows,
		    size_t count)
{
	const struct remap_shape *shape = &model->shape;
	size_t r;
	u32 i, j;

	for (r = 0; r < count; r++) {
		const struct row *row = &rows[r];

		for (i = 0; i < count_of(shape, block, row->outer); i++) {
			for (j = 0; j < count_of(shape, block, row->inner); j++) {
				u32 at = row->at + i * row->outer_stride + j * row->inner_stride;

				model->there[block][at / 4] = row->writable ? 2 : 1;
				model->mask[block][at / 4] = row->mask;
				model->value[block][at / 4] = row->reset;
			}
		}
	}
}

void remap_model_reset(struct remap_model *model, const struct remap_shape *shape)
{
	u32 i, j;

	memset(model, 0, sizeof(*model));
	model->shape = *shape;
	lay_out(model, REMAP_CBLOCK, cblock_rows, ARRAY_SIZE(cblock_rows));
	lay_out(model, REMAP_MBLOCK, mblock_rows, ARRAY_SIZE(mblock_rows));
	model->value[REMAP_CBLOCK][REMAP_CB_SHAPE / 4] =
		REMAP_PUT(REMAP_CB_SHAPE_PORTS, shape->ports) |
		REMAP_PUT(REMAP_CB_SHAPE_LINKS, shape->cblock_links) |
		REMAP_PUT(REMAP_CB_SHAPE_WINDOWS, shape->windows);
	model->value[REMAP_MBLOCK][REMAP_MB_SHAPE / 4] =
		REMAP_PUT(REMAP_MB_SHAPE_MEMORIES, shape->memories) |
		REMAP_PUT(REMAP_MB_SHAPE_LINKS, shape->mblock_links) |
		REMAP_PUT(REMAP_MB_SHAPE_SEGMENTS, shape->segments);
	/* Bits of links that a block lacks ignore what is written. */
	model->mask[REMAP_CBLOCK][REMAP_CB_ENABLE / 4] &= (1U << shape->cblock_links) - 1;
	model->mask[REMAP_MBLOCK][REMAP_MB_ENABLE / 4] &= (1U << shape->mblock_links) - 1;
	/* So do bits of a segment's last page that no offset of 28 bits reaches. */
	for (i = 0; i < shape->mblock_links; i++) {
		for (j = 0; j < shape->segments; j++) {
			u32 at = REMAP_MB_LINK_TABLE_SEGMENT_LAST(i, j);

			model->mask[REMAP_MBLOCK][at / 4] &=
				(u32)(REMAP_PART_BYTES >> REMAP_PAGE_SHIFT) - 1;
		}
	}
}

static bool there(const struct remap_model *model, enum remap_block block, u32 at, u8 right)
{
	return model->fault != REMAP_FAULT_BUS_ERROR && at % 4 == 0 && at / 4 < REMAP_MODEL_WORDS &&
	       model->there[block][at / 4] >= right;
}

static u32 links_up(const struct remap_model *model)
{
	if (model->fault == REMAP_FAULT_LINK_DOWN)
		return 0;
	return model->value[REMAP_CBLOCK][REMAP_CB_ENABLE / 4] &
	       model->value[REMAP_MBLOCK][REMAP_MB_ENABLE / 4];
}

static u32 read_fence(struct remap_model *model)
{
	u32 port, set = 0;

	for (port = 0; port < model->shape.ports; port++) {
		if (!model->draining[port])
			continue;
		set |= 1U << port;
		if (model->fault != REMAP_FAULT_NEVER_DRAINED)
			model->draining[port]--;
	}
	return set;
}

#define OF(block, name) ((block) == REMAP_CBLOCK ? REMAP_CB_##name : REMAP_MB_##name)

void remap_model_set_fault(struct remap_model *model, enum remap_fault fault)
{
	u32 before = links_up(model);

	model->fault = fault;
	if (before & ~links_up(model)) {
		model->value[REMAP_CBLOCK][REMAP_CB_IRQ_STATUS / 4] |= REMAP_CB_IRQ_STATUS_LINK_DOWN_MASK;
		model->value[REMAP_MBLOCK][REMAP_MB_IRQ_STATUS / 4] |= REMAP_MB_IRQ_STATUS_LINK_DOWN_MASK;
	}
}

void remap_model_log(struct remap_model *model, u32 cause, bool write, u64 address)
{
	u32 *registers = model->value[REMAP_CBLOCK];

	registers[REMAP_CB_FAULT_COUNT / 4]++;
	registers[REMAP_CB_IRQ_STATUS / 4] |= REMAP_CB_IRQ_STATUS_FAULTS_MASK & (1U << cause);
	if (registers[REMAP_CB_FAULT / 4] & REMAP_CB_FAULT_VALID_MASK) {
		registers[REMAP_CB_FAULT / 4] |= REMAP_CB_FAULT_OVERFLOW_MASK;
		return;
	}
	registers[REMAP_CB_FAULT / 4] = REMAP_CB_FAULT_VALID_MASK | (write ? REMAP_CB_FAULT_WRITE_MASK : 0) |
					REMAP_PUT(REMAP_CB_FAULT_CAUSE, cause);
	registers[REMAP_CB_FAULT_LOW / 4] = (u32)address;
	registers[REMAP_CB_FAULT_HIGH / 4] = (u32)(address >> 32);
}

bool remap_model_irq(const struct remap_model *model, enum remap_block block)
{
	const u32 *registers = model->value[block];

	return registers[OF(block, IRQ_STATUS) / 4] & registers[OF(block, IRQ_ENABLE) / 4];
}

/* A 1 that is written clears: causes one by one, the log as a whole. */
static bool write_to_clear(struct remap_model *model, enum remap_block block, u32 at, u32 value)
{
	u32 *registers = model->value[block];

	if (at == OF(block, IRQ_STATUS)) {
		registers[at / 4] &= ~value;
		return true;
	}
	if (at != OF(block, FAULT))
		return false;
	if (value & OF(block, FAULT_VALID_MASK)) {
		registers[at / 4] = 0;
		registers[OF(block, FAULT_LOW) / 4] = 0;
		registers[OF(block, FAULT_HIGH) / 4] = 0;
	}
	return true;
}

int remap_model_read(void *context, enum remap_block block, u32 at, u32 *value)
{
	struct remap_model *model = context;

	if (!there(model, block, at, 1))
		return -EIO;
	if (model->fault == REMAP_FAULT_ALL_ONES)
		*value = ~0U;
	else if (block == REMAP_CBLOCK && at == REMAP_CB_FENCE)
		*value = read_fence(model);
	else if (at == (block == REMAP_CBLOCK ? REMAP_CB_UP : REMAP_MB_UP))
		*value = links_up(model);
	else
		*value = model->value[block][at / 4];
	return 0;
}

int remap_model_write(void *context, enum remap_block block, u32 at, u32 value)
{
	struct remap_model *model = context;
	u32 port;

	if (!there(model, block, at, 2))
		return -EIO;
	if (block == REMAP_CBLOCK && at == REMAP_CB_FENCE) {
		for (port = 0; port < model->shape.ports; port++) {
			if (value >> port & 1)
				model->draining[port] = model->fault == REMAP_FAULT_NEVER_DRAINED ?
								1 : model->drain_reads;
		}
		return 0;
	}
	if (model->fault == REMAP_FAULT_ALL_ONES || write_to_clear(model, block, at, value))
		return 0;
	if (model->fault == REMAP_FAULT_STUCK_WINDOW && block == REMAP_CBLOCK &&
	    at >= REMAP_CB_PORT_WINDOW_FIRST(0, 0))
		return 0;
	model->value[block][at / 4] = value & model->mask[block][at / 4];
	return 0;
}
