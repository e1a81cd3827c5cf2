/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the files of lib/registry
 */

#include "registry/registry.h"

#define STATE_NAME "state.json"
#define STATE_BYTES_MAX (512 * 1024)

/* N_SANDBOX_STATES if no state has this name. */
enum sandbox_state sandbox_state_find(const char *name);

/* Opens the directory of one sandbox for reading; -ENOENT. */
int registry_open_directory(int registry, const char *id);
/* Fills @err for its failure @code, which is returned. */
int registry_fail_to_find(const char *id, int code, struct sbx_error *err);
/* A removed directory has no links left. */
bool registry_is_removed(int directory);

/* state.json, written and read; texts of the entry live in @arena. */
void entry_add_state(struct text *out, const struct sandbox_entry *entry);
int entry_read_state(const char *id, const void *bytes, size_t n_bytes, struct arena *arena,
		     struct sandbox_entry *ret, struct sbx_error *err);
