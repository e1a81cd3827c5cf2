/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A log in its own directory, and a verifier that shares only the hash function with lib/audit: it
 * checks every record from the first on and every checkpoint
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/entry.h"
#include "audit/log.h"
#include "audit/merkle.h"
#include "audit/store.h"
#include "audit/checkpoint.h"
#include "test.h"

#define SEGMENT "00000000000000000000.db"
#define LOG_TIME "\"time\":\"2026-01-02T03:04:05.678901Z\""

/* Allocates zeroed memory; aborts if there is none. */
static inline void *zeroed(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (!memory)
		abort();
	return memory;
}

struct log_place {
	char path[32];
	char log[48];
	char spool[48];
	struct audit_log_options options;
};

static inline void remove_below(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		(void)closedir(dir);
	(void)rmdir(path);
}

static inline void log_place_deinit(struct log_place *place)
{
	char sbx[48];

	remove_below(place->log);
	remove_below(place->spool);
	(void)snprintf(sbx, sizeof(sbx), "%s/sbx", place->path);
	(void)rmdir(sbx);
	expect_eq(rmdir(place->path), 0);
}

#define _cleanup_log_place_ _cleanup_(log_place_deinit)

static inline void log_place_init(struct log_place *place)
{
	*place = (struct log_place){ .path = "/tmp/log-XXXXXX" };
	expect(mkdtemp(place->path) != NULL);
	(void)snprintf(place->log, sizeof(place->log), "%s/audit", place->path);
	(void)snprintf(place->spool, sizeof(place->spool), "%s/sbx/spool", place->path);
	place->options = (struct audit_log_options){ .directory = place->log };
}

static inline struct audit_log *log_opened(const struct log_place *place)
{
	struct sbx_error err = { .code = 0 };
	struct audit_log *log = NULL;

	expect_eq(audit_log_open(&place->options, &log, &err), 0);
	if (err.code)
		printf("# %s: %s\n", err.what, err.why);
	return log;
}

static inline struct audit_log *log_made(const struct log_place *place)
{
	struct sbx_error err = { .code = 0 };

	expect_eq(audit_log_create(&place->options, &err), 0);
	if (err.code)
		printf("# %s: %s\n", err.what, err.why);
	return log_opened(place);
}

static inline int log_add_n(struct audit_log *log, const char *event, unsigned long long n,
			    struct sbx_error *err)
{
	char line[160];
	int len = snprintf(line, sizeof(line), "{" LOG_TIME ",\"event\":\"%s\",\"n\":%llu}", event,
			   n);

	return audit_log_add(log, line, (size_t)len, NULL, NULL, err);
}

/* ---- the verifier ---- */

struct verification {
	struct audit_entry *entry;
	struct merkle_frontier frontier;
	struct audit_hash head;
	struct audit_trail trail;
	uint64_t n_wrong; /* wrong records and checkpoints */
	/* Called for each record; may be NULL. */
	void (*see)(void *userdata, const struct store_row *row);
	void *userdata;
	struct store *store;
};

/* Is it a record of this event? */
static inline bool row_is_of(const struct store_row *row, const char *event)
{
	char member[80];
	int n = snprintf(member, sizeof(member), "\"event\":\"%s\"", event);

	return memmem(row->body, row->n_body, member, (size_t)n) != NULL;
}

static inline bool is_right(struct verification *v, const struct store_row *row)
{
	struct audit_hash hash;

	return !row->problem && row->seq == v->frontier.size &&
	       chain_next(row->seq, &v->head, row->body, row->n_body, &hash) == 0 &&
	       audit_hash_equal(&hash, &row->hash) &&
	       entry_read_stored(v->entry, row->body, row->n_body, NULL) == 0;
}

static inline int verify_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
			      struct sbx_error *err)
{
	struct verification *v = userdata;
	struct audit_hash root;

	if (size > v->frontier.size)
		return 1;
	if (size < v->frontier.size)
		return 0;
	if (trail_follow(&v->trail, note, n_bytes, NULL) < 0 ||
	    merkle_root(&v->frontier, &root) < 0 || v->trail.last.size != size ||
	    !audit_hash_equal(&root, &v->trail.last.root) ||
	    !audit_hash_equal(&v->head, &v->trail.last.head))
		v->n_wrong++;
	return 1;
}

static inline int verify_row(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct verification *v = userdata;

	v->n_wrong += !is_right(v, row);
	v->head = row->hash;
	if (merkle_add(&v->frontier, &row->hash) < 0)
		v->n_wrong++;
	if (row->seq == 0) {
		struct note_verifier verifier;
		struct chain_genesis genesis;
		char origin[64];

		if (chain_parse_genesis(row->body, row->n_body, &genesis) < 0)
			return -EBADMSG;
		(void)snprintf(origin, sizeof(origin), CHECKPOINT_ORIGIN_PREFIX "%s",
			       genesis.log_id);
		expect_eq(note_verifier_make(origin, genesis.public_key, &verifier), 0);
		trail_begin(&v->trail, &verifier, 0);
	}
	if (v->see)
		v->see(v->userdata, row);
	return store_each_checkpoint(v->store, v->frontier.size, verify_note, v, err) < 0 ? -EBADMSG
											  : 0;
}

/* The number of records, or -1 if the log is not intact. */
static inline long long verify_log(const struct log_place *place,
				   void (*see)(void *userdata, const struct store_row *row),
				   void *userdata)
{
	_cleanup_store_ struct store *store = NULL;
	struct verification *v = zeroed(1, sizeof(*v));
	int directory = open(place->log, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;
	long long n;

	expect_eq(store_open_to_read(directory, SEGMENT, &store, NULL), 0);
	v->store = store;
	v->see = see;
	v->userdata = userdata;
	v->entry = zeroed(1, sizeof(*v->entry));
	r = store_begin_reading(store, NULL);
	if (r == 0)
		r = store_each(store, 0, UINT64_MAX, verify_row, v, NULL);
	n = r < 0 || v->n_wrong > 0 ? -1 : (long long)v->frontier.size;
	entry_deinit(v->entry);
	free(v->entry);
	free(v);
	(void)close(directory);
	return n;
}
