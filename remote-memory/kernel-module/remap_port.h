/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The needs of files that compile both in the kernel and as an ordinary program
 * (remap_table.c, remap_model.c, remap_parse.c): integers, error numbers, memset.
 */
#ifndef REMAP_PORT_H
#define REMAP_PORT_H

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif

#endif
