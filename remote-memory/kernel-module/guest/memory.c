// SPDX-License-Identifier: GPL-2.0-only
/* Memory of a node that is held, in one of several ways, or taken and given back all the time. */
#define _GNU_SOURCE
#include "tool.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Pages in a pipe: their references are for a short time, as the kernel sees it, and never end. */
static int pin_in_pipe(void *at)
{
	struct iovec part = { .iov_base = at, .iov_len = 4096 * 8 };
	int ends[2];

	return pipe(ends) || vmsplice(ends[1], &part, 1, 0) != (ssize_t)part.iov_len;
}

/* Buffers of a ring: pinned for long, so the kernel moves them out of movable memory first. */
static int pin_in_ring(void *at, size_t bytes)
{
	struct io_uring_params params = { 0 };
	struct iovec part = { .iov_base = at, .iov_len = bytes };
	int ring = (int)syscall(SYS_io_uring_setup, 4, &params);

	return ring < 0 || syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &part, 1U);
}

int tool_hold(int count, char **words)
{
	int node = atoi(words[0]);
	char *unit;
	size_t bytes = strtoul(words[1], &unit, 10) << (*unit == 'K' ? 10 : 20);
	uint64_t *at = tool_map(bytes, 1UL << node, MPOL_PREFERRED);
	int failed = 0;

	(void)count;
	tool_fill(at, bytes, 7);
	printf("hold: %s %ld pages on node %d\n", words[2], tool_on_node(at, bytes, node), node);
	if (!strcmp(words[2], "mlock"))
		failed = mlock(at, bytes);
	else if (!strcmp(words[2], "pipe"))
		failed = pin_in_pipe(at);
	else if (!strcmp(words[2], "ring"))
		failed = pin_in_ring(at, bytes);
	else if (strcmp(words[2], "plain"))
		return 255;
	if (failed) {
		perror(words[2]);
		return 1;
	}
	printf("hold: ready\n");
	while (access(words[3], F_OK))
		usleep(20000);
	printf("hold: then %ld pages on node %d\n", tool_on_node(at, bytes, node), node);
	return tool_check(at, bytes, 7);
}

int tool_load(int count, char **words)
{
	unsigned long nodes = 1UL << atoi(words[0]);
	size_t most = (size_t)atoi(words[1]) << 20;
	double end = tool_seconds() + atof(words[2]);
	uint64_t state = (uint64_t)getpid();
	long rounds = 0;

	(void)count;
	do {
		size_t bytes = (tool_random(&state) % (most >> 12) + 1) << 12;
		uint64_t seed = tool_random(&state), *at;

		/* Where there is such a node now; without it, anywhere. */
		at = tool_map(bytes, 0, 0);
		syscall(SYS_mbind, at, bytes, MPOL_PREFERRED, &nodes, 64UL, 0);
		tool_fill(at, bytes, seed);
		/* So that a segment goes while some of it is in use, on a machine with few processors, too. */
		usleep(20000);
		if (tool_check(at, bytes, seed))
			return 1;
		munmap(at, bytes);
		rounds++;
	} while (tool_seconds() < end);
	printf("load: %ld rounds\n", rounds);
	return 0;
}
