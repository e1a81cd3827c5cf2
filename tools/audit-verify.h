/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the parts of sbx-audit verify
 */

#include "audit.h"
#include "audit/verify.h"

struct json_writer;

/* ---- audit-verify-known.c ---- */

/* 1 with the state, 0 where there is none. */
int known_read_state(const struct audit_values *values, struct verified_state *ret,
		     struct sbx_error *err);
/* Where nobody has said where to keep it, it is no failure that it cannot be kept. */
int known_write_state(struct tool_run *run, const struct verified_state *state,
		      struct sbx_error *err);
int known_read_witness(const struct audit_values *values, struct witness *ret,
		       struct sbx_error *err);
/* The heads of this log in the journal, or of the one that should be in its place. @since may be
 * NULL. */
int known_read_journal(const struct audit_values *values, const struct verified_state *since,
		       int folder, struct witness *ret, struct sbx_error *err);

/* ---- audit-verify-seed.c ---- */

int audit_verify_seed(struct tool_run *run, const char *path, struct sbx_error *err);

/* ---- audit-verify.c ---- */

int audit_verdict_status(enum verify_verdict verdict);
/* For people: "OK", or the name of the verdict. */
const char *audit_verdict_text(enum verify_verdict verdict);
/* For --json: what, why and fix. */
void audit_add_finding(struct json_writer *json, const struct sbx_error *finding);
