/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Writes a file's content to an archive: its data, and its holes (SEEK_HOLE) without reading them
 */

#include <stdint.h>
#include <sys/types.h>

struct archive;
struct archive_entry;
struct output_options;

struct content {
	struct archive *archive;
	const char *zeros;
	const struct output_options *options;
	uint64_t n_names; /* written so far, for options->advanced() */
	const char *why;  /* reason if the last call failed */
};

/* 0 or -ENOMEM. */
int content_init(struct content *content);
void content_deinit(struct content *content);
/* Reports the progress; -ETIME after the deadline. */
int content_check_clock(struct content *content);
/* Adds the data ranges and holes of the file to @entry. */
int content_find(struct content *content, struct archive_entry *entry, int fd, off_t size);
/* Writes the content, after the header of that entry. */
int content_write(struct content *content, int fd, off_t size);
