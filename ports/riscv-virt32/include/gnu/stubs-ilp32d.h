/* SPDX-License-Identifier: Apache-2.0 */
/* Debian's cross headers have glibc's list of functions without a body for 64 bits only. A program without glibc needs
   neither. */
