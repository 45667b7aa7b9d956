// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads requests. Compiles in the kernel and as an ordinary program; trusts neither length nor bytes.
 */
#include "remap_parse.h"

struct text {
	const char *at, *end;
};

static bool space(char c)
{
	return c == ' ' || c == '\t';
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool name_byte(char c)
{
	return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int hex_digit(char c)
{
	if (digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* One line: a newline at the end is left out; one within is an ordinary, wrong byte. */
static struct text line(const char *text, size_t length)
{
	struct text line = { text, text + length };

	if (length && line.end[-1] == '\n')
		line.end--;
	return line;
}

/* The next word; empty at the end. */
static struct text word(struct text *line)
{
	struct text found;

	while (line->at < line->end && space(*line->at))
		line->at++;
	found.at = line->at;
	while (line->at < line->end && !space(*line->at))
		line->at++;
	found.end = line->at;
	return found;
}

static size_t bytes(struct text text)
{
	return (size_t)(text.end - text.at);
}

static bool begins(struct text text, const char *with)
{
	return bytes(text) >= strlen(with) && !memcmp(text.at, with, strlen(with));
}

/* K, M, G or T, alone or followed by iB; nothing else. */
static bool unit(struct text text, u32 *shift)
{
	static const char units[] = "KMGT";
	u32 i;

	*shift = 0;
	if (!bytes(text))
		return true;
	for (i = 0; i < sizeof(units) - 1; i++) {
		if (*text.at == units[i])
			*shift = 10 * (i + 1);
	}
	text.at++;
	return *shift && (!bytes(text) || (bytes(text) == 2 && begins(text, "iB")));
}

static bool number(struct text text, u64 *value)
{
	u64 base = 10, found = 0;
	u32 shift;
	const char *first;

	if (bytes(text) > 2 && text.at[0] == '0' && text.at[1] == 'x') {
		base = 16;
		text.at += 2;
	}
	for (first = text.at; text.at < text.end; text.at++) {
		int value_of = hex_digit(*text.at);

		if (value_of < 0 || (u64)value_of >= base)
			break;
		if (found > (~0ULL - (u64)value_of) / base)
			return false;
		found = found * base + (u64)value_of;
	}
	if (text.at == first || !unit(text, &shift) || found > ~0ULL >> shift)
		return false;
	*value = found << shift;
	return true;
}

static int read_name(struct text text, char found[REMAP_NAME_BYTES], const char **why)
{
	const char *at;

	*why = "a name has up to 31 letters, digits and, after the first, _ . -";
	if (!bytes(text) || bytes(text) >= REMAP_NAME_BYTES || !name_byte(*text.at))
		return -EINVAL;
	for (at = text.at; at < text.end; at++) {
		if (!name_byte(*at) && *at != '_' && *at != '.' && *at != '-')
			return -EINVAL;
	}
	memset(found, 0, REMAP_NAME_BYTES);
	memcpy(found, text.at, bytes(text));
	return 0;
}

enum key { ADDRESS, SIZE, OFFSET, PORT, LINK, MEMORY, NODE, KEYS };

static const struct {
	const char *word;
	const char *wrong;
} keys[KEYS] = {
	[ADDRESS] = { "address=", "address= wants a number, as 0x400000000" },
	[SIZE] = { "size=", "size= wants a number of bytes, as 256M" },
	[OFFSET] = { "offset=", "offset= wants a number of bytes, as 0x10000000" },
	[PORT] = { "port=", "port= wants a number below 256" },
	[LINK] = { "link=", "link= wants a number below 256" },
	[MEMORY] = { "memory=", "memory= wants a number below 256" },
	[NODE] = { "node=", "node= wants the number of a NUMA node, below 4096" },
};

int remap_parse_attach(const char *text, size_t length, struct remap_request *request,
		       const char **why)
{
	struct text rest = line(text, length), next;
	u64 value[KEYS] = { 0 };
	u32 seen = 0, key;
	int err;

	err = read_name(word(&rest), request->name, why);
	if (err)
		return err;
	for (next = word(&rest); bytes(next); next = word(&rest)) {
		for (key = 0; key < KEYS; key++) {
			if (begins(next, keys[key].word))
				break;
		}
		if (key == KEYS) {
			*why = "after the name come address= size= offset= port= link= memory= node= only";
			return -EINVAL;
		}
		if (seen >> key & 1) {
			*why = "something is said twice";
			return -EINVAL;
		}
		seen |= 1U << key;
		next.at += strlen(keys[key].word);
		if (!number(next, &value[key]) || (key >= PORT && key < NODE && value[key] > 255) ||
		    (key == NODE && value[key] > 4095)) {
			*why = keys[key].wrong;
			return -EINVAL;
		}
	}
	if (!(seen >> ADDRESS & 1) || !(seen >> SIZE & 1)) {
		*why = "address= and size= have to be said";
		return -EINVAL;
	}
	request->place.address = value[ADDRESS];
	request->place.size = value[SIZE];
	request->place.offset = value[OFFSET];
	request->place.port = (u32)value[PORT];
	request->place.link = (u32)value[LINK];
	request->place.memory = (u32)value[MEMORY];
	request->node = seen >> NODE & 1 ? (int)value[NODE] : REMAP_ANY_NODE;
	return 0;
}

int remap_parse_name(const char *text, size_t length, char found[REMAP_NAME_BYTES], const char **why)
{
	struct text rest = line(text, length);
	int err = read_name(word(&rest), found, why);

	if (!err && bytes(word(&rest))) {
		*why = "a name and nothing after it";
		err = -EINVAL;
	}
	return err;
}

int remap_parse_range(const char *text, size_t length, u64 *start, u64 *size)
{
	struct text first = line(text, length), second = first;

	while (second.at < second.end && *second.at != '+')
		second.at++;
	first.end = second.at;
	if (second.at < second.end)
		second.at++;
	return number(first, start) && number(second, size) ? 0 : -EINVAL;
}
