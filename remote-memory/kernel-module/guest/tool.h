/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of the module do inside the guest. Each takes its own arguments and gives an exit status. */
#ifndef TOOL_H
#define TOOL_H

#include <stddef.h>
#include <stdint.h>

int tool_write(int count, char **words); /* FILE TEXT: status is the error number */
int tool_fuzz(int count, char **words); /* FILE COUNT SEED */
int tool_hold(int count, char **words); /* NODE MIB HOW GO: memory there (8K: of KiB), kept until the file GO is there */
int tool_load(int count, char **words); /* NODE MIB SECONDS: allocates and frees, and checks what it wrote */
int tool_stream(int count, char **words); /* MIB NODES: copy, scale, add, triad */
int tool_events(int count, char **words); /* FILE: says what it tells, and the module's events */
int tool_lost(int count, char **words); /* NODE MIB GO: memory there, of which a page has to be lost when GO is there */
int tool_poke(int count, char **words); /* ADDRESS VALUE: a word of physical memory */

uint64_t tool_random(uint64_t *state);
void *tool_map(size_t bytes, unsigned long nodes, int mode);
long tool_on_node(void *at, size_t bytes, int node); /* pages of it that lie there */
void tool_fill(uint64_t *at, size_t bytes, uint64_t seed);
int tool_check(const uint64_t *at, size_t bytes, uint64_t seed);
int tool_check_from(const uint64_t *at, size_t from, size_t bytes, uint64_t seed); /* as filled from its begin on */
double tool_seconds(void);

#endif
