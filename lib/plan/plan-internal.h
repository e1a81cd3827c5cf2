/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The parts of plan_build(), and what they hand to each other
 *
 *   plan.c      the order of the parts; memory, lists, notices, messages, origins
 *   tier.c      template, tier and layers
 *   marks.c     marks of policy rules, links; system.c, grants.c, guard.c: of the built-in view, of
 *               what is named, of built-in denials
 *   decision.c  what the evaluator decided about a path, and so the rights of a place
 *   view.c      marks → places      show.c      places → steps      landlock.c  places → rules
 *   permits.c   refuses finished steps that permit more than was decided
 *   command.c, network.c, limits.c  the rest of what is chosen
 *   host.c      which paths the host is asked about
 *   step.c      the table of step kinds      print.c  a plan as text
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"
#include "plan/host.h"
#include "plan/plan.h"
#include "plan/request.h"
#include "policy/model.h"
#include "policy/network.h"

#define DEFAULT_GRACE_USEC UINT64_C(2000000)
#define DEFAULT_TMP_SIZE (UINT64_C(512) << 20)
#define SHM_SIZE (UINT64_C(64) << 20)
#define ROOT_SIZE (UINT64_C(16) << 20)
/* Of a directory that contains only targets of other mounts. */
#define VEIL_SIZE (UINT64_C(1) << 20)
/* No other user has it, and no two living processes the same pid. */
#define OWN_UID_BASE 2000000000u
/* Listeners that one sandbox can have. */
#define LISTENERS_MAX LOOPBACK_PORTS_MAX

/* The same bits as enum filter_variant, which lib/plan must not include; the unit test compares. */
enum plan_variant {
	VARIANT_INET = 1 << 0,
	VARIANT_NESTED = 1 << 1,
	VARIANT_NO_MEMFD_EXEC = 1 << 2,
	VARIANT_PORTS = 1 << 3,
	VARIANT_NO_NAMESPACES = 1 << 4,
	VARIANT_NO_SHM = 1 << 5,
	VARIANT_LOOPBACK = 1 << 6,
	VARIANT_PTRACE = 1 << 7,
};

enum right {
	RIGHT_READ = 1 << 0,
	RIGHT_LIST = 1 << 1,
	RIGHT_WRITE = 1 << 2,
	RIGHT_EXEC = 1 << 3,
	RIGHT_EXISTS = 1 << 4,
	/* These do not make a place visible; they count where something else does. */
	RIGHT_MAP = 1 << 5,    /* libraries: may be mapped executable */
	RIGHT_START = 1 << 6,  /* the command itself, and the program loader */
	RIGHT_DEVICE = 1 << 7, /* ioctl */
};
#define RIGHTS_FILES (RIGHT_READ | RIGHT_LIST | RIGHT_WRITE | RIGHT_EXISTS)
#define RIGHTS_SEEN (RIGHTS_FILES | RIGHT_EXEC)
#define RIGHTS_READ (RIGHT_READ | RIGHT_LIST | RIGHT_EXISTS)
#define RIGHTS_RUN (RIGHT_EXEC | RIGHT_MAP | RIGHT_START)

enum mark_kind {
	MARK_ALLOW,
	MARK_DENY,
	MARK_EXCEPT, /* a rule has an exception here: the evaluator is asked anew */
	MARK_PIN, /* a directory that must not be renamed, because a path below it is protected by
		     name */
};

/* The content of a path inside. */
enum content {
	CONTENT_HOST, /* the host's, at the same path or at the mark's source */
	CONTENT_TMPFS,
	CONTENT_OVERLAY, /* over the host's */
	CONTENT_SOCKET,
	CONTENT_DEVICE,
	CONTENT_DIRECTORY,
	CONTENT_LINK,
	CONTENT_COPY,
	CONTENT_PROC,
	CONTENT_PTS,
};

enum mark_flag {
	MARK_ASKED = 1 << 0,	/* by an option or a mount: cannot be had is an error */
	MARK_OPTIONAL = 1 << 1, /* but it may be missing */
	MARK_ALONE = 1 << 2,	/* a glob that names a directory and nothing below it */
	MARK_GUARD = 1 << 3,	/* built-in: where it is missing, it cannot be made */
	MARK_OURS = 1 << 4,	/* made by sbx: the host is not asked about it */
	MARK_DROPPED =
		1 << 5, /* is missing outside, or another mark decides the content of its place */
	MARK_RULED = 1 << 6,   /* a rule of the policy or its view: no rule is to be added */
	MARK_TOLD = 1 << 7,    /* a notice says that it is dropped */
	MARK_OWNED = 1 << 8,   /* looks as if it belonged to the command's user, also read-only */
	MARK_SHARED = 1 << 12, /* a tmpfs that has one size with all others that are shared */
	MARK_WIDE = 1 << 14,   /* shown because the working directory is the root */
	MARK_MAPPED = 1 << 13, /* named by root: what root owns there may be read */
	MARK_RUN = 1 << 10,    /* named to be executed */
	MARK_PROJECT = 1 << 9, /* of the working directory, by the built-in view */
};

struct list {
	void *rows;
	size_t n_rows;
	size_t n_free;
};

struct mark {
	const char *path;   /* inside, as it was named */
	const char *source; /* outside, where that is another path; or NULL */
	const char *real;   /* either without links, as the caller says; NULL: the same */
	enum mark_kind kind;
	enum content content;
	unsigned rights;
	unsigned flags;
	const char *text;  /* of a link; upper directory of an overlay */
	const char *extra; /* work directory of an overlay */
	uint64_t value;	   /* size */
	uint64_t second;   /* mode */
	struct step_origin origin;
	struct list excepts; /* struct composed_except: what the grant does not include */

	/* Found by view_build(). */
	const struct host_path *facts; /* of the path outside, or NULL */
	const char *place;	       /* inside, without links */
	size_t number;		       /* among all marks */
};

struct place {
	const char *path;
	struct mark *const *marks;
	size_t n_marks;
	const struct place *parent;
	/* The place whose content this one shows a part of: itself, one above it, or NULL: the
	 * host's content at the same path. */
	const struct place *base;
	const struct mark *winner; /* the mark that decides the content, or NULL */
	const struct host_path *facts;
	const char *source; /* outside; or NULL */
	unsigned rights;
};

/* How a place ends up in the tree: one row for each place, in the same order. */
struct shown {
	struct place *place;
	/* The row whose mount can be seen here: itself, one above it, or NULL: the root. */
	const struct shown *carrier;
	const char *target;  /* of its own step, as long as the plan lives */
	unsigned landlocked; /* what Landlock rules at and above this place give, as rights */
	/* Of its own mount. */
	bool is_writable;
	bool is_executable;
	bool is_mapped; /* idmapped */
	bool is_hidden; /* by a mask */
};

struct landlock_path {
	const char *path;
	unsigned rights;
	bool is_directory;
	struct step_origin origin;
};

struct planner_memory {
	struct arena *arena;   /* of what the plan points to */
	struct arena *scratch; /* of rows that no plan points to */
	struct text text;
	bool is_exhausted;
	/* Written to where there is no memory. */
	_Alignas(max_align_t) unsigned char spare[256];
};

/* The planner chooses these from policy, request and host. */
struct choices {
	const struct policy_template *template;
	const char *profile;
	enum net_mode net_mode;
	bool is_nested;
	bool in_scope;	    /* of the service manager: LAYER_CGROUP without a cgroup of sbx's own */
	char **environment; /* of the command */
	const char *home;   /* where its private home is, or NULL: it has none */
};

/* What the rules of the policy say beside their paths. */
struct ruled {
	bool has_exec;
	bool exec_everywhere;
	uint64_t file_size_max; /* of their constraints; UINT64_MAX: none */
	struct step_origin file_size_origin;
};

/* For the caller, before it asks the host. */
struct questions {
	struct list paths; /* const char *: of no mark */
	struct list made;  /* const char *: directories to be made */
};

struct planner_view {
	struct list marks;    /* struct mark * */
	struct place *places; /* by path */
	size_t n_places;
	struct shown *shown; /* as many, made by shown_begin() */
};

struct planner {
	const struct policy *policy; /* or NULL */
	const struct spawn_request *request;
	const struct host *host;
	/* Marks are made only to list which paths the host is asked about: @host finds none, a path
	 * may be anything, and @plan is thrown away. */
	bool is_listing;
	struct sbx_error *err;
	struct planner_memory memory;

	struct choices chosen;
	struct ruled ruled;
	struct questions questions;
	struct list ports;     /* struct request_port */
	struct list creatable; /* const char *: missing startup files in what may be written */
	struct planner_view view;
	struct decided *decided; /* from decide_all() on */

	struct plan *plan;
	struct list steps;	    /* struct step */
	struct list landlock_paths; /* struct landlock_path */
	struct list tops;	    /* struct plan_top */
	struct list notices;	    /* struct plan_notice */
};

/* plan.c. What adds a row never fails by itself: without memory it returns a spare one to write to,
 * and planner_status() says so at the end. */
void *list_add(struct planner *planner, struct list *list, size_t row_size);
void *planner_alloc(struct planner *planner, size_t n_bytes); /* as long as the plan lives */
const char *planner_keep(struct planner *planner, const char *string);
const char *planner_format(struct planner *planner, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));
/* "/a" and "b/c" are "/a/b/c"; "" adds nothing. */
const char *planner_join(struct planner *planner, const char *directory, const char *rest);
/* Is @path @directory or below it? Both are normal. */
bool is_below(const char *path, const char *directory);
struct step *planner_add_step(struct planner *planner, enum step_kind kind,
			      struct step_origin origin);
struct mark *planner_add_mark(struct planner *planner, enum mark_kind kind, const char *path,
			      unsigned rights, struct step_origin origin);
void planner_note(struct planner *planner, bool is_weaker, const char *what, const char *why);
void planner_add_notice(struct planner *planner, struct plan_notice notice);
int planner_status(struct planner *planner);
/* Reports what, why and fix; returns @code. */
int planner_refuse(struct planner *planner, int code, const char *what, const char *why,
		   const char *fix);
/* NULL where the policy does not say; "mounts[3].size" is "mounts", 3, "size". */
const struct setting *planner_setting(const struct planner *planner, const char *path);
const struct setting *planner_item(struct planner *planner, const char *list, size_t i,
				   const char *key);
/* A path of a setting: "." and "./a" are below the project. */
const char *planner_project_path(struct planner *planner, const char *path);
/* Of the host; made up for what probing adds by itself. NULL where it was not asked. */
const struct host_path *planner_facts(struct planner *planner, const char *path);
struct step_origin origin_of_rule(struct planner *planner, const struct rule *rule);
struct step_origin origin_of_setting(struct planner *planner, const struct setting *setting);
struct step_origin origin_of_option(struct planner *planner, const char *option);
extern const struct step_origin origin_built_in;
extern const struct step_origin origin_default; /* of a limit */
/* "p.yaml:14 'runtime'", "--read", "the built-in view" */
const char *origin_text(const struct step_origin *origin);

/* tier.c */
int choose_template(struct planner *planner);
int choose_tier(struct planner *planner);
int check_layers(struct planner *planner);
void add_namespaces(struct planner *planner);

/* marks.c: all marks, in the order in which they need each other. */
int mark_all(struct planner *planner);
/* A right at "/" becomes the same right at these directories, since sbx makes "/" itself. */
void mark_everything(struct planner *planner, unsigned rights, unsigned flags,
		     struct step_origin origin);
/* Last: the host's links on the way to what is marked. */
void mark_links(struct planner *planner);

/* grants.c */
int mark_requested(struct planner *planner);
int mark_mounts(struct planner *planner);
int mark_secrets(struct planner *planner);
/* A path of the home, to read and execute, as by an option; @name says what names it. */
void mark_shown(struct planner *planner, const char *path, const char *name);
void note_missing_denials(struct planner *planner);
/* After all grants are marked; and once rights are known, the notices about it. */
int mark_credentials(struct planner *planner);
void note_credentials(struct planner *planner);
/* Is nothing about the place but what grants lose? */
bool place_is_of_credentials(const struct place *place);

/* system.c */
bool has_own_tmp(const struct planner *planner);
/* @size_bytes 0: that of every tmpfs. */
void mark_as_tmpfs(struct planner *planner, struct mark *mark, uint64_t size_bytes);
void mark_system(struct planner *planner);
int mark_devices(struct planner *planner);
/* After everything that may show the host's home. */
void mark_home(struct planner *planner);
/* Can a directory of the user's be there? */
bool home_is_usable(const char *path);

/* guard.c */
void mark_guarded(struct planner *planner);
int mark_git(struct planner *planner);
/* The directories on the way to a path. */
void ask_about_way(struct planner *planner, const char *path);
/* A row that what @mark shows through a link of root's contains or lies in; or NULL. */
const struct guarded *guard_find_behind_link(const struct planner *planner,
					     const struct mark *mark);

/* command.c */
int choose_identity(struct planner *planner);
bool is_real_root(const struct host *host);
void add_accounts(struct planner *planner); /* after the tree, into which it puts files */
int make_environment(struct planner *planner);
/* The value of @name, or NULL. */
const char *environment_find(char *const *environment, const char *name);
/* May only what is named be executed? */
bool is_limiting_exec(const struct planner *planner);
void mark_program(struct planner *planner);
int check_program(struct planner *planner);
void note_other_names(struct planner *planner);
/* Steps through what the command may be: a path, or the name in each directory of PATH. *@at is
 * NULL at first; NULL at the end. */
const char *next_candidate(struct planner *planner, const char **at);
/* The directory that the command starts in, as an option or the policy names it; or NULL. */
const char *asked_directory(struct planner *planner);
int add_working_directory(struct planner *planner);

/* network.c */
int choose_network(struct planner *planner);
uint16_t planner_proxy_port(const struct planner *planner); /* inside, of net mode proxy */
int mark_sockets(struct planner *planner);
void add_network(struct planner *planner);
/* Does Landlock limit the TCP ports? */
bool is_limiting_ports(const struct planner *planner);
/* Can --ptrace be given here? */
int check_ptrace(struct planner *planner);
void add_filter(struct planner *planner);

/* limits.c */
int choose_limits(struct planner *planner);
int hold_limits(struct planner *planner);
uint64_t tmp_size(const struct planner *planner);
void add_cgroup(struct planner *planner);
void add_rlimits(struct planner *planner);

/* decision.c: a path as the sandbox sees it, and where its content is outside. */
struct asked_path {
	const char *path;
	const char *source;	  /* or NULL: the same path */
	enum host_path_kind kind; /* a missing path may become a directory */
};
unsigned rights_of(uint64_t operations);
uint64_t operations_of(unsigned rights);
/* Composes the rules of policy, options and protections; after all marks are made. */
int decide_all(struct planner *planner);
/* Does a rule deny a port that is to be carried through? */
int decide_ports(struct planner *planner);
void decided_free(struct decided *decided);
/* Those of @wanted that the policy gives at the path: only these are asked for. */
unsigned decided_rights(struct planner *planner, const struct asked_path *asked, unsigned wanted);
/* The same at the path or below it, though not at both. */
unsigned decided_anywhere(struct planner *planner, const struct asked_path *asked, unsigned wanted);
/* The rule that denies one of @rights; false where none does. */
bool decided_denial(struct planner *planner, const struct asked_path *asked, unsigned rights,
		    struct step_origin *ret);
int place_find_rights(struct planner *planner, struct place *place);
/* The rule that denies @rights at the place; false where none does. */
bool place_find_denial(struct planner *planner, const struct place *place, unsigned rights,
		       struct step_origin *ret);
/* Does sbx make the content, so that no rule is about it? */
bool place_is_made(const struct place *place);
/* Of the mark at the place that gives one of @rights, or of its content. */
struct step_origin place_find_origin(const struct place *place, unsigned rights);
/* Are all denials here only for files that exist on the host? */
bool place_is_only_guarded(const struct place *place);
/* Must it be a mount, so that it cannot be renamed? */
bool place_is_pinned(const struct place *place);

/* view.c */
int view_build(struct planner *planner);
/* The place at or nearest above @path, or NULL. */
const struct place *view_find(const struct planner *planner, const char *path);
/* Is something below @path shown? */
bool view_has_below(const struct planner *planner, const char *path);

/* show.c */
int show_places(struct planner *planner);
/* Rows for all places; then the row of one. */
int shown_begin(struct planner *planner);
struct shown *shown_of(const struct planner *planner, const struct place *place);
/* Does the place end up in the tree? */
bool shown_is_visible(const struct shown *shown);
/* For a start by root: the directories on the way to @mark, which may be closed to others. */
void ask_about_mapped(struct planner *planner, const struct mark *mark);

/* landlock.c */
void landlock_place(struct planner *planner, struct shown *shown);
int landlock_alone(struct planner *planner); /* without a mount view */
void add_landlock(struct planner *planner);

/* permits.c: refuses steps that permit more than was decided. */
int compare_with_decisions(struct planner *planner);

/* step.c */
extern const struct flag_names names_of_accesses; /* all that Landlock handles */
