// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module's parts that know registers only, as an ordinary program, one order a line on standard input.
 *
 *   remap_user model PORTS LINKS WINDOWS MEMORIES SEGMENTS
 *     the register model: reg-read c|m AT, reg-write c|m AT VALUE, fault NAME, drain READS, log CAUSE ADDRESS, irq c|m;
 *     answers ok [VALUE], slverr
 *   remap_user table
 *     the table: open NAME ADDRESS SIZE OFFSET PORT LINK MEMORY, close NAME, drained NAME, counts NAME, listen c|m,
 *     deaf c|m, event c|m; each register access goes out as reg-read or reg-write, the answer is the next line; then:
 *     done ERROR WHY
 *   remap_user parse
 *     lines as they are written to `attach`; answers: done ERROR and what was read or why not
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../remap_model.h"
#include "../remap_parse.h"

static char text[8192];

static char *next_line(void)
{
	if (!fgets(text, sizeof(text), stdin))
		exit(0);
	return text;
}

static void model(char **words)
{
	static struct remap_model registers;
	const struct remap_shape shape = {
		.ports = (u32)atoi(words[0]), .windows = (u32)atoi(words[2]), .cblock_links = (u32)atoi(words[1]),
		.memories = (u32)atoi(words[3]), .segments = (u32)atoi(words[4]),
		.mblock_links = (u32)atoi(words[1]),
	};

	remap_model_reset(&registers, &shape);
	for (;;) {
		char block, fault[32];
		int at, i;
		u32 value, cause;
		unsigned long long address;

		next_line();
		if (sscanf(text, "reg-read %c %i", &block, &at) == 2) {
			if (remap_model_read(&registers, block == 'm', (u32)at, &value))
				puts("slverr");
			else
				printf("ok %" PRIu32 "\n", value);
		} else if (sscanf(text, "reg-write %c %i %" SCNi32, &block, &at, (int32_t *)&value) == 3) {
			/* Of numbers above 2^31 the sign is lost, not a bit. */
			value = (u32)strtoull(strrchr(text, ' '), NULL, 0);
			puts(remap_model_write(&registers, block == 'm', (u32)at, value) ? "slverr" : "ok");
		} else if (sscanf(text, "drain %" SCNu32, &registers.drain_reads) == 1) {
			puts("ok");
		} else if (sscanf(text, "fault %31s", fault) == 1) {
			for (i = 0; i < REMAP_FAULTS; i++) {
				if (!strcmp(fault, remap_fault_names[i]))
					remap_model_set_fault(&registers, (enum remap_fault)i);
			}
			puts("ok");
		} else if (sscanf(text, "log %" SCNu32 " %lli", &cause, (long long *)&address) == 2) {
			remap_model_log(&registers, cause, false, address);
			puts("ok");
		} else if (sscanf(text, "irq %c", &block) == 1) {
			printf("ok %d\n", remap_model_irq(&registers, block == 'm'));
		} else {
			puts("error");
		}
		fflush(stdout);
	}
}

static int ask_read(void *context, enum remap_block block, u32 at, u32 *value)
{
	(void)context;
	printf("reg-read %c %" PRIu32 "\n", block == REMAP_CBLOCK ? 'c' : 'm', at);
	fflush(stdout);
	return sscanf(next_line(), "ok %" SCNu32, value) == 1 ? 0 : -EIO;
}

static int ask_write(void *context, enum remap_block block, u32 at, u32 value)
{
	(void)context;
	printf("reg-write %c %" PRIu32 " %" PRIu32 "\n", block == REMAP_CBLOCK ? 'c' : 'm', at, value);
	fflush(stdout);
	return strncmp(next_line(), "ok", 2) ? -EIO : 0;
}

static void table(void)
{
	const struct remap_bus bus = { .read = ask_read, .write = ask_write };
	static struct {
		char name[REMAP_NAME_BYTES];
		struct remap_place place;
		struct remap_mapping mapping;
	} opened[64], *one;
	struct remap_shape shape;
	size_t count = 0;

	for (;;) {
		const char *why = "";
		char order[16], name[REMAP_NAME_BYTES];
		struct remap_place place;
		struct remap_event event;
		u32 reads = 0, writes = 0;
		int err, words;

		memset(&place, 0, sizeof(place));
		words = sscanf(next_line(), "%15s %31s %" SCNi64 " %" SCNi64 " %" SCNi64 " %" SCNu32 " %" SCNu32 " %" SCNu32,
			       order, name, (int64_t *)&place.address, (int64_t *)&place.size,
			       (int64_t *)&place.offset, &place.port, &place.link, &place.memory);
		for (one = opened; one < opened + count && strcmp(one->name, name); one++)
			;
		if (words == 8 && !strcmp(order, "open") && count < 64) {
			one = &opened[count];
			strcpy(one->name, name);
			one->place = place;
			err = remap_table_shape(&bus, &shape, &why);
			if (!err)
				err = remap_table_open(&bus, &shape, &one->place, &one->mapping, &why);
			count += !err;
		} else if (words == 2 && one < opened + count && !strcmp(order, "close")) {
			err = remap_table_close(&bus, &one->place, &one->mapping, &why);
		} else if (words == 2 && one < opened + count && !strcmp(order, "drained")) {
			err = remap_table_drained(&bus, &one->place, &why);
		} else if (words == 2 && one < opened + count && !strcmp(order, "counts")) {
			err = remap_table_counts(&bus, &one->place, &one->mapping, &reads, &writes);
		} else if (words == 2 && (!strcmp(order, "listen") || !strcmp(order, "deaf"))) {
			err = remap_table_listen(&bus, *name == 'm', !strcmp(order, "listen"));
		} else if (words == 2 && !strcmp(order, "event")) {
			err = remap_table_event(&bus, *name == 'm', &event);
			if (!err) {
				printf("done 0 %" PRIu32 " %s %s %s %" PRIu32 " %" PRIu32 " %" PRIu32 " %#" PRIx64 " %s\n",
				       event.causes, event.logged ? "logged" : "no-log",
				       event.overflow ? "overflow" : "alone", event.write ? "store" : "load",
				       event.cause, event.port, event.index, event.address,
				       remap_table_lost(*name == 'm', &event) ? "lost" : "kept");
				fflush(stdout);
				continue;
			}
		} else {
			err = -EINVAL;
			why = "no such order";
		}
		printf("done %d %s", -err, why);
		if (!strcmp(order, "counts"))
			printf("%" PRIu32 " %" PRIu32, reads, writes);
		putchar('\n');
		fflush(stdout);
	}
}

static void parse(void)
{
	/* Without a byte behind it: what reads too far is seen by the sanitizer. */
	for (;;) {
		struct remap_request request;
		const char *why = "", *of_name;
		size_t length = strlen(next_line());
		char *copy = malloc(length ? length : 1);
		u64 start = 0, size = 0;
		char name[REMAP_NAME_BYTES];
		int err, range;

		memcpy(copy, text, length);
		err = remap_parse_attach(copy, length, &request, &why);
		range = remap_parse_range(copy, length, &start, &size);
		if (!err)
			printf("done 0 %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %u %u %d\n", request.name,
			       request.place.address, request.place.size, request.place.offset,
			       request.place.port, request.place.link, request.place.memory, request.node);
		else if (!range)
			printf("range %" PRIu64 " %" PRIu64 "\n", start, size);
		else if (!remap_parse_name(copy, length, name, &of_name))
			printf("name %s\n", name);
		else
			printf("done %d %s\n", -err, why);
		free(copy);
		fflush(stdout);
	}
}

int main(int count, char **words)
{
	if (count == 7 && !strcmp(words[1], "model"))
		model(words + 2);
	else if (count == 2 && !strcmp(words[1], "table"))
		table();
	else if (count == 2 && !strcmp(words[1], "parse"))
		parse();
	fprintf(stderr, "usage: remap_user model PORTS LINKS WINDOWS MEMORIES SEGMENTS | table | parse\n");
	return 2;
}
