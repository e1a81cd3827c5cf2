/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A host described by a table, and a plan made for it
 *
 * planning_open() gives a Debian 12, an ordinary user in /home/user/p, and the command "true".
 * know() and know_link() add files of the host; every other path is missing.
 */

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include <sbx/error.h>

#include "base/text.h"
#include "plan/host.h"
#include "plan/plan.h"
#include "plan/request.h"
#include "policy/credentials.h"
#include "policy/guarded.h"
#include "policy/model.h"
#include "step-flags.h"
#include "test.h"

#define KNOWN_MAX 128
#define ASKED_MAX 2048

struct known {
	const char *path;
	enum host_path_kind kind;
	const char *target; /* of a symbolic link */
	uid_t uid;
	uint64_t n_links;
	mode_t mode;	  /* 0: readable for all users */
	size_t n_movable; /* of a link, see struct host_link */
};

struct planning {
	struct known known[KNOWN_MAX];
	size_t n_known;
	struct host_path facts[ASKED_MAX];
	struct host_link links[KNOWN_MAX];
	struct host host;
	struct spawn_request request;
	struct guarded_places places;
	struct guarded_list guarded;
	struct credential_place homes[4];
	struct credential_list credentials;
	const char *const *made;
	struct request_path paths[8];
	const char *argv[4];
	const char *environment[8];
	struct policy *policy;
	struct arena arena;
	struct plan *plan;
	struct sbx_error err;
	struct text text;
};

#define _cleanup_planning_ _cleanup_(planning_close)

void planning_close(struct planning *planning);
void know(struct planning *planning, const char *path, enum host_path_kind kind);
void know_link(struct planning *planning, const char *path, const char *target, uid_t uid);
void planning_open(struct planning *planning);

struct host_path look_at_host(struct planning *planning, const char *path);
/* Answers the plan's questions, as kernel/probe does, including where refused links lead. */
int ask_host(struct planning *planning);
int planning_build(struct planning *planning);
/* Ends the test program if the policy does not load: the test itself is wrong. */
void planning_load(struct planning *planning, const char *yaml);
void grant(struct planning *planning, enum request_grant kind, const char *path,
	   const char *option);

/* The step of that kind at @target, or (with NULL) the first of that kind; NULL if there is none.
 */
const struct step *find_step(const struct planning *planning, enum step_kind kind,
			     const char *target);
/* Like find_step(), but fails the test and returns an empty step if there is none. */
static inline const struct step *the_step(const struct planning *planning, enum step_kind kind,
					  const char *target)
{
	static struct step none;
	const struct step *step = find_step(planning, kind, target);

	expect(step);
	none = step_filled(kind, "");
	return step ? step : &none;
}
unsigned flags_of(const struct planning *planning, enum step_kind kind, const char *target);
bool has_notice(const struct planning *planning, const char *what);
const char *plan_text(struct planning *planning);
/* True if the error has all of these texts. */
bool says(const struct planning *planning, const char *what, const char *why, const char *fix);

/* The two usual expectations: there is a plan, or it is refused with this code. */
#define expect_plan(planning)                                                                      \
	do {                                                                                       \
		int _r = planning_build(planning);                                                 \
		if (_r < 0)                                                                        \
			printf("# refused: %s: %s\n", (planning)->err.what, (planning)->err.why);  \
		expect_eq(_r, 0);                                                                  \
	} while (0)
#define expect_refusal(planning, code) expect_eq(planning_build(planning), code)
