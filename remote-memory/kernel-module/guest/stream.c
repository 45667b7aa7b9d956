// SPDX-License-Identifier: GPL-2.0-only
/* Copy, scale, add and triad over three arrays of doubles, which lie on the nodes of a mask, interleaved. */
#define _GNU_SOURCE
#include "tool.h"

#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 2

int tool_stream(int count, char **words)
{
	static const char *const names[] = { "copy", "scale", "add", "triad" };
	static const double arrays[] = { 2, 2, 3, 3 };
	size_t bytes = (size_t)atoi(words[0]) << 20, n = bytes / sizeof(double), i;
	unsigned long nodes = strtoul(words[1], NULL, 0);
	double *a = tool_map(bytes, nodes, MPOL_INTERLEAVE);
	double *b = tool_map(bytes, nodes, MPOL_INTERLEAVE);
	double *c = tool_map(bytes, nodes, MPOL_INTERLEAVE);
	double best[4] = { 0 }, x = 1, y = 2, z = 0;
	int round, k;

	(void)count;
	for (i = 0; i < n; i++) {
		a[i] = 1;
		b[i] = 2;
		c[i] = 0;
	}
	for (round = 0; round < ROUNDS; round++) {
		for (k = 0; k < 4; k++) {
			double begin = tool_seconds(), rate;

			for (i = 0; i < n && k == 0; i++)
				c[i] = a[i];
			for (i = 0; i < n && k == 1; i++)
				b[i] = 3 * c[i];
			for (i = 0; i < n && k == 2; i++)
				c[i] = a[i] + b[i];
			for (i = 0; i < n && k == 3; i++)
				a[i] = b[i] + 3 * c[i];
			rate = arrays[k] * (double)bytes / (tool_seconds() - begin);
			if (rate > best[k])
				best[k] = rate;
		}
		/* The same on one element of each. */
		z = x;
		y = 3 * z;
		z = x + y;
		x = y + 3 * z;
	}
	for (i = 0; i < n; i++) {
		if (a[i] != x || b[i] != y || c[i] != z) {
			printf("WRONG ELEMENT %zu\n", i);
			return 1;
		}
	}
	printf("stream: nodes %#lx pages-on-1 %ld of %zu", nodes, tool_on_node(a, bytes, 1), bytes / 4096);
	for (k = 0; k < 4; k++)
		printf(" %s=%.0f", names[k], best[k]);
	printf(" bytes/s, emulated\n");
	return 0;
}
