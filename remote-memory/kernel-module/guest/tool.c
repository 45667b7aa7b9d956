// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t tool_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

double tool_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void *tool_map(size_t bytes, unsigned long nodes, int mode)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || (nodes && syscall(SYS_mbind, at, bytes, mode, &nodes, 64UL, 0))) {
		perror("memory");
		exit(1);
	}
	return at;
}

long tool_on_node(void *at, size_t bytes, int node)
{
	long found = 0;
	size_t i;

	for (i = 0; i < bytes; i += 4096) {
		void *page = (char *)at + i;
		int status = -1;

		if (!syscall(SYS_move_pages, 0, 1UL, &page, NULL, &status, 0))
			found += status == node;
	}
	return found;
}

void tool_fill(uint64_t *at, size_t bytes, uint64_t seed)
{
	size_t i;

	for (i = 0; i < bytes / 8; i++)
		at[i] = seed + i * 0x9e3779b97f4a7c15ULL;
}

int tool_check(const uint64_t *at, size_t bytes, uint64_t seed)
{
	return tool_check_from(at, 0, bytes, seed);
}

int tool_check_from(const uint64_t *at, size_t from, size_t bytes, uint64_t seed)
{
	size_t i;

	for (i = from / 8; i < bytes / 8; i++) {
		if (at[i] != seed + i * 0x9e3779b97f4a7c15ULL) {
			printf("WRONG WORD %zu: %llx\n", i, (unsigned long long)at[i]);
			return 1;
		}
	}
	return 0;
}

int tool_write(int count, char **words)
{
	int file = open(words[0], O_WRONLY);

	(void)count;
	return file < 0 || write(file, words[1], strlen(words[1])) < 0 ? errno : 0;
}

int tool_fuzz(int count, char **words)
{
	static const char *const parts[] = {
		"a", "demo", "address=", "size=", "offset=", "node=", "port=", "link=", "memory=", "0x20000000", "128M",
		"256MiB", "0x", "-1", "99999999999999999999", "0xffffffffffffffff", "16777216T", " ", "\t", "\n", "=",
		"0", "1", "K", "\xff", "%s%n", "address=0x20000000 size=128M", "address=0x30000000 size=128M",
	};
	uint64_t state = strtoull(words[2], NULL, 0);
	int left, taken = 0, refused = 0;

	(void)count;
	for (left = atoi(words[1]); left > 0; left--) {
		char text[6000];
		size_t length = 0, pieces = tool_random(&state) % 12, i;
		int file;

		/* Now and then longer than a page. */
		if (tool_random(&state) % 64 == 0)
			pieces = 300;
		for (i = 0; i < pieces; i++) {
			const char *part = parts[tool_random(&state) % (sizeof(parts) / sizeof(parts[0]))];
			size_t bytes = strlen(part);

			memcpy(text + length, part, bytes);
			length += bytes;
			if (tool_random(&state) % 8 == 0)
				text[length++] = (char)tool_random(&state);
			else if (tool_random(&state) % 2)
				text[length++] = ' ';
		}
		file = open(words[0], O_WRONLY);
		if (file < 0)
			return 1;
		if (write(file, text, length) < 0)
			refused++;
		else
			taken++;
		close(file);
	}
	printf("fuzz: %d refused, %d taken\n", refused, taken);
	return 0;
}

int main(int count, char **words)
{
	static const struct {
		const char *name;
		int (*run)(int count, char **words);
		int words;
	} tools[] = {
		{ "write", tool_write, 2 }, { "fuzz", tool_fuzz, 3 },	  { "hold", tool_hold, 4 },
		{ "load", tool_load, 3 },   { "stream", tool_stream, 2 }, { "events", tool_events, 1 },
		{ "lost", tool_lost, 3 },   { "poke", tool_poke, 2 },
	};
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; count > 1 && i < sizeof(tools) / sizeof(tools[0]); i++) {
		if (!strcmp(words[1], tools[i].name) && count == tools[i].words + 2)
			return tools[i].run(count - 2, words + 2);
	}
	fprintf(stderr, "usage: tool write FILE TEXT | fuzz FILE COUNT SEED | hold NODE MIB HOW GO | "
			"load NODE MIB SECONDS | stream MIB NODES | events FILE | lost NODE MIB GO | poke ADDRESS VALUE\n");
	return 255;
}
