/* SPDX-License-Identifier: GPL-2.0-only */
/* What is written to `attach` and `detach`, and numbers of module parameters. */
#ifndef REMAP_PARSE_H
#define REMAP_PARSE_H

#include "remap_table.h"

#define REMAP_NAME_BYTES 32
#define REMAP_ANY_NODE (-1)

struct remap_request {
	char name[REMAP_NAME_BYTES];
	struct remap_place place;
	int node; /* REMAP_ANY_NODE: one that has neither processors nor memory of its own */
};

/*
 * NAME address=NUMBER size=NUMBER [offset=NUMBER] [port=N] [link=N] [memory=N] [node=N], in any order after
 * the name. `text` has `length` bytes and need not end with 0. 0, or -EINVAL with the reason.
 */
int remap_parse_attach(const char *text, size_t length, struct remap_request *request,
		       const char **why);

/* NAME alone. */
int remap_parse_name(const char *text, size_t length, char name[REMAP_NAME_BYTES], const char **why);

/* START+SIZE, two numbers: decimal or 0x..., with K, M, G or T (of 1024) or KiB, MiB, GiB, TiB after them. */
int remap_parse_range(const char *text, size_t length, u64 *start, u64 *size);

#endif
