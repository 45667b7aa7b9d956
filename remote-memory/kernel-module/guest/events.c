// SPDX-License-Identifier: GPL-2.0-only
/* What the module tells, a page that it gives up, and words of physical memory. */
#define _GNU_SOURCE
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <linux/netlink.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* The words of an event that are the module's, in one line. */
static void show(const char *event, size_t bytes)
{
	const char *word;

	for (word = event; word < event + bytes; word += strlen(word) + 1) {
		if (!strncmp(word, "REMAP_", 6))
			printf("%s ", word);
	}
	putchar('\n');
}

int tool_events(int count, char **words)
{
	struct sockaddr_nl from = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	struct pollfd wait[2] = {
		{ .fd = open(words[0], O_RDONLY), .events = POLLPRI },
		{ .fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT), .events = POLLIN },
	};
	char text[8192];

	(void)count;
	if (wait[0].fd < 0 || wait[1].fd < 0 || bind(wait[1].fd, (struct sockaddr *)&from, sizeof(from)))
		return errno;
	/* A file tells of what comes after it was read. */
	if (read(wait[0].fd, text, sizeof(text)) < 0)
		return errno;
	printf("events: ready\n");
	for (;;) {
		if (poll(wait, 2, -1) < 0)
			return errno;
		if (wait[0].revents & POLLPRI) {
			printf("events: file told\n");
			lseek(wait[0].fd, 0, SEEK_SET);
			if (read(wait[0].fd, text, sizeof(text)) < 0)
				return errno;
		}
		if (wait[1].revents & POLLIN) {
			ssize_t got = recv(wait[1].fd, text, sizeof(text) - 1, 0);

			if (got > 0) {
				text[got] = 0;
				show(text, (size_t)got);
			}
		}
	}
}

static uint64_t physical(void *at)
{
	int file = open("/proc/self/pagemap", O_RDONLY);
	off_t place = (off_t)((uintptr_t)at / 4096 * sizeof(uint64_t));
	uint64_t entry = 0;

	if (file < 0 || pread(file, &entry, sizeof(entry), place) != sizeof(entry)) {
		perror("pagemap");
		exit(1);
	}
	close(file);
	return (entry & ((1ULL << 55) - 1)) << 12;
}

static sigjmp_buf lost_jump;

static void on_lost(int signal)
{
	(void)signal;
	siglongjmp(lost_jump, 1);
}

int tool_lost(int count, char **words)
{
	int node = atoi(words[0]);
	size_t bytes = (size_t)atoi(words[1]) << 20, half = bytes / 2;
	uint64_t *at = tool_map(bytes, 1UL << node, MPOL_BIND);
	volatile uint64_t *page = at + half / 8;
	int lost = 0;

	(void)count;
	/* Small pages: one of 2 MiB would go as a whole. */
	madvise(at, bytes, MADV_NOHUGEPAGE);
	tool_fill(at, bytes, 7);
	/* Else its neighbours would be looked at through a page that moved. */
	if (mlock(at, bytes))
		perror("mlock");
	printf("lost: address 0x%llx\n", (unsigned long long)physical(at + half / 8));
	while (access(words[2], F_OK))
		usleep(20000);
	signal(SIGBUS, on_lost);
	if (sigsetjmp(lost_jump, 1))
		lost = 1;
	else
		printf("lost: read %llx\n", (unsigned long long)*page);
	printf("lost: %s\n", lost ? "SIGBUS" : "nothing");
	if (tool_check(at, half, 7))
		return 2;
	return lost ? tool_check_from(at, half + 4096, bytes, 7) : 1;
}

int tool_poke(int count, char **words)
{
	off_t address = (off_t)strtoull(words[0], NULL, 0);
	int file = open("/dev/mem", O_RDWR | O_SYNC);
	volatile uint32_t *page = MAP_FAILED;

	(void)count;
	if (file >= 0)
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, address & ~4095LL);
	if (page == MAP_FAILED) {
		perror("poke");
		return 1;
	}
	page[address % 4096 / 4] = (uint32_t)strtoull(words[1], NULL, 0);
	return 0;
}
