/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the verbs of sbx-policy: the values of options, a policy that is ready to evaluate
 * requests, lines of a pipe, requests as words, and explanations of rules
 *
 * One file for each group of verbs: tools/policy-NAME.c. The table of verbs is in sbx-policy.c.
 */

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/lines.h"
#include "base/options.h"
#include "base/text.h"
#include "policy/compare.h"
#include "policy/decide.h"
#include "policy/guarded.h"
#include "policy/model.h"
#include "policy/request.h"

struct extension;
struct policy_warning;
struct recorder;
struct tool_run;

struct policy_values {
	struct option_list layers; /* layers above FILE: system, user */
	const char *project_file;  /* a file below FILE that only narrows */
	bool strict;
	const char *output;
	const char *replay;
	const char *last;
	uint64_t coverage; /* minimum percentage of rules; 0: none */

	const char *socket; /* serve, token */
	int audit_fd;	    /* serve, update, edit; -EBADF: the spool */
	struct option_list sandboxes, facts;
	const char *record;
	uint64_t max_clients;

	uint64_t pid; /* token */
	const char *sandbox_id, *glob, *project, *uses, *ttl;
	const char *from; /* also update */

	bool yes; /* update */
	const char *expect_digest, *confirm;
};

#define OPTION(...) OPTION_ROW(struct policy_values, __VA_ARGS__)
#define OPTION_PROJECT_FILE                                                                        \
	OPTION("project-file", 0, OPTION_PATH, project_file, "FILE",                               \
	       "a policy that can only narrow")
#define OPTION_LAYERS                                                                              \
	OPTION("layer", 'l', OPTION_PATHS, layers, "FILE",                                         \
	       "an additional policy that takes precedence"),                                      \
		OPTION_PROJECT_FILE
#define OPTION_LAST                                                                                \
	OPTION("last", 0, OPTION_STRING, last, "N", "only the last N requests (100), or all")
#define OPTION_AUDIT_FD                                                                            \
	OPTION("audit-fd", 0, OPTION_FD, audit_fd, "FD", "send records to this file descriptor",   \
	       .redirection = ">>FILE")

verb_fn policy_verb_check, policy_verb_eval, policy_verb_explain, policy_verb_test;
verb_fn policy_verb_merge, policy_verb_print, policy_verb_schema, policy_verb_compile;
verb_fn policy_verb_diff, policy_verb_serve, policy_verb_token, policy_verb_update;
verb_fn policy_verb_edit;

/* Tables of verbs in other files. */
extern const struct option_spec policy_serve_options[];
extern const struct option_spec policy_token_options[];
extern const struct option_spec policy_update_options[];
extern const struct option_spec policy_edit_options[];

/* The exit status of a verb whose input could not be read or parsed: TOOL_USAGE, except that
 * -ENOMEM stays an errno. */
int policy_bad_input(int r);

/*
 * stdin can be read only once, and an empty policy is valid: -EINVAL if more than one of @files,
 * the files of @values and the requests is standard input.
 */
int policy_check_stdin(const struct policy_values *values, size_t n_files, char *const files[],
		       bool reads_requests, struct sbx_error *err);

/*
 * policy-judge.c: a policy that is ready to evaluate requests, in either form. It decides exactly
 * like the service: built-in rules, the artefact, the extension programs.
 */
struct judge {
	struct policy *policy; /* NULL: it was compiled, without the texts of its matches */
	char *bytes;	       /* the compiled file */
	void *block;	       /* compiled here */
	char *project;	       /* for which it is compiled; NULL: for every one */
	struct artefact artefact;
	struct policy_engine *engine;
	struct guarded_list guarded;
	struct arena arena; /* of its paths */
	struct extension **extensions;
	struct policy_vote *votes;
	struct arena places_arena;
	struct arena_rows places; /* paths that rules and mounts name */
	const char *places_of;	  /* the project of which they are; NULL: not found yet */
	struct text request_json;
	struct text note;
};

#define _cleanup_judge_ _cleanup_(judge_close)

/* Reads @path ("-": standard input) with the layers of @values; @values may be NULL. */
int judge_open(const char *path, const struct policy_values *values, struct judge *ret,
	       struct sbx_error *err);
void judge_close(struct judge *judge);
/* Compiles the policy again for the request's project if that matters: where links of this host are
 * in a relative path of a rule, a rule names the project by its absolute path, or there are mounts,
 * whose targets and sources may be below it. */
int judge_adapt(struct judge *judge, const struct policy_request *request, struct sbx_error *err);
void judge_decide(struct judge *judge, const struct request_buffer *request,
		  struct policy_decision *ret);
/* policy-note.c: the same, with a note where a sandbox differs. The note is valid until the next
 * decision. */
void judge_decide_noted(struct judge *judge, const struct request_buffer *request,
			struct policy_decision *ret);
/* Does a sandbox have the link or directory @path? It does if the directory around it is shown, or
 * if a rule that allows names it, or a path through it (@is_named). */
bool judge_has(struct judge *judge, const struct policy_request *request, const char *path,
	       bool is_link, bool is_named);

/* policy-links.c: where the request's path leads in a sandbox. */
enum judge_way {
	WAY_STRAIGHT, /* without links, in a loop of them, or not to a file of the host */
	WAY_LINKED,   /* to @ret */
	WAY_GAP,      /* through the link @ret, which a sandbox does not have */
	WAY_UP,	      /* through ".." in the directory @ret, which a sandbox does not have */
};
enum judge_way judge_find_way(struct judge *judge, const struct policy_request *request,
			      char ret[static PATH_MAX]);
/* The nearest path at or above @path that a rule or mount names, on which the rights to @path
 * depend; or NULL. */
const char *judge_find_place(struct judge *judge, const struct policy_request *request,
			     const char *path);
/* The nearest path at or above @path that a rule, a mount or the view allows and shows; or NULL. */
const char *judge_find_shown(struct judge *judge, const struct policy_request *request,
			     const char *path);
/* Does a rule or mount show @path again inside of what is hidden? */
bool judge_shows_again(struct judge *judge, const struct policy_request *request, const char *path,
		       bool is_directory);
/* Is @path at or below a path with rights that a rule, a mount or the view shows? */
bool judge_carries(struct judge *judge, const struct policy_request *request, const char *path,
		   bool (*has_rights)(const void *context, const char *path), const void *context);
/* The target of the overlay in which the path is; NULL if it is in none. */
const char *judge_find_overlay(const struct judge *judge, const struct policy_request *request,
			       const char *path, char ret[static PATH_MAX]);
/* Finds the file of the host that a sandbox shows at @path; false in a tmpfs. */
bool judge_finds_outside(const struct judge *judge, const struct policy_request *request,
			 const char *path, char ret[static PATH_MAX]);
/* The exit status of a decision. A request that cannot be judged is denied, and it is bad input. */
int judge_status(const struct policy_decision *decision);
/* Loads @path and its layers as one policy; never a compiled file. */
int judge_load(const char *path, const struct policy_values *values, struct policy **ret,
	       struct sbx_error *err);
int judge_read(const char *path, char **ret_bytes, size_t *ret_n_bytes, struct sbx_error *err);

/* policy-check.c: a warning, or that sbx-spawn refuses the policy, as the verb check prints it. */
void policy_print_warning(struct tool_run *run, const char *file,
			  const struct policy_warning *warning);

/* policy-words.c: OP ARGUMENT NAME=VALUE..., where a path may be relative to the project, which is
 * the working directory unless project= names another. */
int words_read(char *const words[], size_t n_words, struct request_buffer *ret,
	       struct sbx_error *err);

/* policy-log.c: the decisions in a log, one JSON object in each line. */
struct decision_log {
	int fd;
	pid_t pid;	 /* the process that reads the log */
	int messages_fd; /* what it writes to stderr */
};

#define _cleanup_decision_log_ _cleanup_(decision_log_end)

#define DECISION_LOG_OWN "log"

/* True for the directory of a log, and for "log", the user's own. */
bool decision_log_is(const char *path);
/* Is there a readable log of the user? */
bool decision_log_is_kept(void);
/* The last @n_last decisions; 0: all. */
int decision_log_open(const char *path, uint64_t n_last, struct decision_log *ret,
		      struct sbx_error *err);
/* Could all of them be read? */
int decision_log_close(struct decision_log *log, struct sbx_error *err);
void decision_log_end(struct decision_log *log);

/* policy-diff.c: judges the requests of a record ("-": standard input, or a log) by both
 * policies, of which
 * @last ("100", "all"; NULL: 100) counts, and prints the answers that change and how many. The
 * rules alone are asked, no extension programs. */
int replay_record(struct tool_run *run, struct judge *before, struct judge *after, const char *path,
		  const char *last, struct replay *ret, struct sbx_error *err);
/* Reports that nothing was replayed: on standard error, or with --json as counts of 0. */
void replay_say_untried(struct tool_run *run, const char *why);

/* policy-why.c: explains why a rule did or did not apply. */
void why_add_note(struct text *out, const struct policy_decision *decision);
void why_add(struct text *out, const struct judge *judge, const struct policy_request *request,
	     const struct policy_explanation *explanation);
const char *why_near_name(enum policy_near near);
/* All rows, ascending by rule; the caller frees them. NULL: out of memory. */
struct policy_explanation *why_explain(struct judge *judge, const struct policy_request *request,
				       size_t *ret_n);
