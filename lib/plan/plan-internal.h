/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The parts of plan_build(), and the data that they pass to each other
 *
 *   plan.c      the order of the parts; memory, lists, notices, messages, origins
 *   tier.c      template, tier and layers
 *   marks.c     marks of policy rules, links; system.c, grants.c, guard.c: of the built-in view, of
 *               options, mounts and secrets, of built-in denials
 *   decision.c  the evaluator's decision about a path, and so the rights of a place
 *   view.c      marks → places      show.c      places → steps      landlock.c  places → rules
 *   permits.c   refuses finished steps that permit more than was decided
 *   command.c, network.c, limits.c  the other choices
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
#define SHM_SIZE (UINT64_C(64) << 20)
#define ROOT_SIZE (UINT64_C(16) << 20)
/* Size of a tmpfs that only contains mount points. */
#define VEIL_SIZE (UINT64_C(1) << 20)
/* No other user has this uid, and no two living processes have the same pid. */
#define OWN_UID_BASE 2000000000u
/* Maximum number of listeners of one sandbox. */
#define LISTENERS_MAX LOOPBACK_PORTS_MAX

/* The same bits as enum filter_variant, which lib/plan must not include; a unit test compares
 * them. */
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
	/* The following do not make a place visible; they matter only where another right does. */
	RIGHT_MAP = 1 << 5,    /* mmap() with PROT_EXEC, for libraries */
	RIGHT_START = 1 << 6,  /* execve() of the command itself, and of the program loader */
	RIGHT_DEVICE = 1 << 7, /* ioctl */
};
#define RIGHTS_FILES (RIGHT_READ | RIGHT_LIST | RIGHT_WRITE | RIGHT_EXISTS)
#define RIGHTS_SEEN (RIGHTS_FILES | RIGHT_EXEC)
#define RIGHTS_READ (RIGHT_READ | RIGHT_LIST | RIGHT_EXISTS)
#define RIGHTS_RUN (RIGHT_EXEC | RIGHT_MAP | RIGHT_START)

enum mark_kind {
	MARK_ALLOW,
	MARK_DENY,
	MARK_EXCEPT, /* a rule has an exception at this path, so the evaluator is asked about it
			separately */
	MARK_PIN, /* a directory that must not be renamed, because a path below it is protected by
		     name */
};

/* The content of a path inside. */
enum content {
	CONTENT_HOST, /* host content, at the same path or at the mark's source */
	CONTENT_TMPFS,
	CONTENT_OVERLAY, /* over host content */
	CONTENT_SOCKET,
	CONTENT_DEVICE,
	CONTENT_DIRECTORY,
	CONTENT_LINK,
	CONTENT_COPY,
	CONTENT_PROC,
	CONTENT_PTS,
};

enum mark_flag {
	MARK_ASKED = 1 << 0,	/* by an option or a mount: failing to provide it is an error */
	MARK_OPTIONAL = 1 << 1, /* except that the path may be missing */
	MARK_ALONE = 1 << 2,	/* a glob that names a directory but nothing below it */
	MARK_GUARD = 1 << 3,	/* a built-in denial: a missing path cannot be created */
	MARK_OURS = 1 << 4,	/* made by sbx: the host is not asked about the path */
	MARK_DROPPED = 1 << 5,	/* the path is missing outside, or another mark decides the content
				   of its place */
	MARK_RULED = 1 << 6,	/* of a rule of the policy or its view: needs no other rule */
	MARK_TOLD = 1 << 7,	/* a notice reports that it is dropped */
	MARK_OWNED = 1 << 8,	/* appears as owned by the command's user, even if read-only */
	MARK_SHARED = 1 << 12,	/* a tmpfs that shares one size limit with all other shared ones */
	MARK_WIDE = 1 << 14,	/* visible because the working directory is "/" */
	MARK_MAPPED = 1 << 13,	/* named by root: files of root may be read there */
	MARK_RUN = 1 << 10,	/* named for execution */
	MARK_OF_HOST = 1 << 11, /* named as source and as target of one mount */
	MARK_PROJECT = 1 << 9,	/* of the working directory, in the built-in view */
};

struct mark {
	const char *path;   /* inside, as spelt */
	const char *source; /* outside, if different; or NULL */
	const char *real; /* the outside path without symbolic links, according to the caller; NULL:
			     no difference */
	enum mark_kind kind;
	enum content content;
	unsigned rights;
	unsigned flags;
	const char *text;  /* target of a link; upper directory of an overlay */
	const char *extra; /* work directory of an overlay */
	uint64_t value;	   /* size */
	uint64_t second;   /* mode */
	struct step_origin origin;
	struct arena_rows excepts; /* struct composed_except: paths excluded from the grant */

	/* Set by view_build(): */
	const struct host_path *facts; /* of the outside path, or NULL */
	const char *place;	       /* inside path without symbolic links */
	size_t number;		       /* index among all marks */
};

struct place {
	const char *path;
	struct mark *const *marks;
	size_t n_marks;
	const struct place *parent;
	/* The place whose content includes this one's: itself, one above it, or NULL: host content
	 * at the same path. */
	const struct place *base;
	const struct mark *winner; /* the mark that decides the content, or NULL */
	const struct host_path *facts;
	const char *source; /* outside path, or NULL */
	unsigned rights;
};

/* How a place appears in the tree: one row per place, in the same order. */
struct shown {
	struct place *place;
	/* The row whose mount is visible here: itself, one above it, or NULL: the root. */
	const struct shown *carrier;
	unsigned landlocked; /* rights that Landlock rules at and above this place grant */
	/* Attributes of its own mount: */
	bool is_writable;
	bool is_executable;
	struct step_owner owner; /* is_set: idmapped */
	bool is_hidden;		 /* covered by a mask */
};

struct landlock_path {
	const char *path;
	unsigned rights;
	bool is_directory;
	struct step_origin origin;
};

struct planner_memory {
	struct arena *arena;   /* lives as long as the plan */
	struct arena *scratch; /* freed after plan_build() */
	struct text text;
	bool is_exhausted;
	/* Written to after an allocation failed. */
	_Alignas(max_align_t) unsigned char spare[256];
};

/* Choices made from policy, request and host. */
struct choices {
	const struct policy_template *template;
	const char *profile; /* of the system call filter */
	struct step_origin profile_origin;
	enum net_mode net_mode;
	bool is_nested;
	bool in_scope; /* in a scope of the service manager: LAYER_CGROUP without a cgroup of sbx's
			  own */
	char **environment; /* the command's */
	const char *home;   /* path of the private home, or NULL: none */
};

/* Facts from the policy's rules other than paths. */
struct ruled {
	bool has_exec;
	uint64_t file_size_max; /* smallest bound of all rules; UINT64_MAX: none */
	struct step_origin file_size_origin;
};

/* Questions that the caller must ask the host. */
struct questions {
	struct arena_rows paths; /* const char *: paths without a mark */
	struct arena_rows made;	 /* const char *: directories that the caller must create */
};

struct planner_view {
	struct arena_rows marks; /* struct mark * */
	struct place *places;	 /* sorted by path */
	size_t n_places;
	struct shown *shown; /* n_places rows, made by shown_begin() */
	bool has_mounts;     /* of other files of the host at a path */
};

struct planner {
	const struct policy *policy; /* may be NULL */
	const struct spawn_request *request;
	const struct host *host;
	/* Only list the paths about which the host is asked: @host has no facts, every path may be
	 * anything, and @plan is discarded. */
	bool is_listing;
	struct sbx_error *err;
	struct planner_memory memory;

	struct choices chosen;
	struct ruled ruled;
	struct questions questions;
	struct arena_rows ports; /* struct request_port */
	struct arena_rows
		creatable; /* const char *: missing startup files in writable directories */
	struct planner_view view;
	struct decided *decided; /* set by decide_all() */

	struct plan *plan;
	struct arena_rows steps;	  /* struct step */
	struct arena_rows landlock_paths; /* struct landlock_path */
	struct arena_rows tops;		  /* struct plan_top */
	struct arena_rows notices;	  /* struct plan_notice */
};

/* plan.c. Functions that add a row cannot fail: out of memory they return a spare row to write to,
 * and planner_status() reports that at the end. */
void *list_add(struct planner *planner, struct arena_rows *list, size_t row_size);
void *planner_alloc(struct planner *planner, size_t n_bytes); /* lives as long as the plan */
/* Copies that live as long as the plan; "" if out of memory. */
const char *planner_keep_bytes(struct planner *planner, const char *bytes, size_t n_bytes);
const char *planner_keep(struct planner *planner, const char *string);
const char *planner_format(struct planner *planner, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));
/* The string as a word for a shell: text_add_word(). */
const char *planner_word(struct planner *planner, const char *string);
/* Keeps what has been added to memory.text. */
const char *planner_take_text(struct planner *planner);
/* Joins "/a" and "b/c" to "/a/b/c"; adds nothing for "". */
const char *planner_join(struct planner *planner, const char *directory, const char *rest);
/* The path that @path, which is @from or below it, has where @to is at @from's place. */
const char *planner_rebase(struct planner *planner, const char *path, const char *from,
			   const char *to);
void list_add_path(struct planner *planner, struct arena_rows *list, const char *path);
struct step *planner_add_step(struct planner *planner, enum step_kind kind,
			      struct step_origin origin);
static inline struct mark *mark_at(const struct planner *planner, size_t i)
{
	return ((struct mark **)planner->view.marks.rows)[i];
}
static inline const char *mark_outside(const struct mark *mark)
{
	return mark->source ? mark->source : mark->path;
}
struct mark *planner_add_mark(struct planner *planner, enum mark_kind kind, const char *path,
			      unsigned rights, struct step_origin origin);
/* Adds a notice; the caller may set its flags at once. */
struct plan_notice *planner_note(struct planner *planner, const char *what, const char *why);
struct plan_notice *planner_advise(struct planner *planner, const char *what, const char *why,
				   const char *fix);
int planner_status(struct planner *planner);
/* Runs the parts, of which the last one is NULL, until one fails. */
typedef int planner_part(struct planner *planner);
int planner_run(struct planner *planner, planner_part *const parts[]);
/* Fills planner->err with what, why and fix; returns @code. */
int planner_refuse(struct planner *planner, int code, const char *what, const char *why,
		   const char *fix);
/* Resolves a path of a setting: "." and "./a" are below the project. Lives as long as the plan. */
const char *planner_project_path(struct planner *planner, const char *path);
/* Facts of the host; synthesised for paths that probing adds by itself. NULL if the host was not
 * asked. */
const struct host_path *planner_facts(struct planner *planner, const char *path);
struct step_origin origin_of_rule(struct planner *planner, const struct rule *rule);
struct step_origin origin_of_setting(struct planner *planner, const struct setting *setting);
struct step_origin origin_of_option(struct planner *planner, const char *option);
extern const struct step_origin origin_built_in;
extern const struct step_origin origin_default; /* of limits */
/* Text such as "p.yaml:14 'runtime'", "--read" or "the built-in view" */
const char *origin_text(const struct step_origin *origin);

/* tier.c */
int choose_template(struct planner *planner);
int choose_tier(struct planner *planner);
int check_layers(struct planner *planner);
/* After decide_all(): refuses rules about execution that a nested sandbox would not be held to. */
int check_nested(struct planner *planner);
void add_namespaces(struct planner *planner);

/* marks.c: makes all marks, in the order of their dependencies. */
int mark_all(struct planner *planner);
/* Marks the top-level directories in place of "/", which sbx makes itself. */
void mark_everything(struct planner *planner, unsigned rights, unsigned flags,
		     struct step_origin origin);
/* Must be called last: marks the host's symbolic links on the way to marked paths. */
void mark_links(struct planner *planner);
/* Finds the links on the way to @path, also those to which links lead; without @with_first only
 * these. */
void mark_find_links(const struct host *host, const char *path, bool with_first,
		     bool *is_on_the_way);
/* Is the link below a mount of other files, which hides it? */
bool mark_link_is_hidden(const struct planner *planner, const char *path);

/* grants.c */
int mark_requested(struct planner *planner);
int mark_mounts(struct planner *planner);
int mark_secrets(struct planner *planner);
/* Marks a path of the home to be read and executed, like an option does; @name is what names it. */
void mark_shown(struct planner *planner, const char *path, const char *name);
void note_missing_denials(struct planner *planner);
/* mark_credentials() must be called after all grants are marked, note_credentials() once rights are
 * known. */
int mark_credentials(struct planner *planner);
void mark_read_only(struct planner *planner);
void note_credentials(struct planner *planner);
/* Warns where an option that shows a directory takes back what a rule lets the command write. */
void note_lost_writes(struct planner *planner);
/* Are all marks of the place exceptions for credentials? */
bool place_is_of_credentials(const struct place *place);

/* system.c */
/* Marks a symbolic link of the sandbox's own. */
void mark_link(struct planner *planner, const char *path, const char *target);
bool has_own_tmp(const struct planner *planner);
/* @size_bytes 0: the default size of a tmpfs. */
void mark_as_tmpfs(struct planner *planner, struct mark *mark, uint64_t size_bytes);
void mark_system(struct planner *planner);
int mark_devices(struct planner *planner);
/* After all marks that may show the host's home. */
void mark_home(struct planner *planner);
/* Can the path be a user's home directory? */
bool home_is_usable(const char *path);

/* guard.c */
void mark_guarded(struct planner *planner);
int mark_git(struct planner *planner);
/* If @denial is that of repositories: the protected path that is or contains @path. NULL if not. */
const char *guard_find_protected(const struct planner *planner, const char *path,
				 const struct step_origin *denial);
/* Asks about each directory on the way to @path. */
void ask_about_way(struct planner *planner, const char *path);
/* The guarded row that contains, or lies in, what @mark shows through a symbolic link of root's; or
 * NULL. */
const struct guarded *guard_find_behind_link(const struct planner *planner,
					     const struct mark *mark);

/* command.c */
int choose_identity(struct planner *planner);
bool is_real_root(const struct host *host);
void add_accounts(struct planner *planner); /* after the tree, to which it adds files */
void add_own_address(struct planner *planner, const char *name); /* so does it */
int make_environment(struct planner *planner);
/* The value of @name, or NULL. */
const char *environment_find(char *const *environment, const char *name);
/* May only named programs be executed? */
bool is_limiting_exec(const struct planner *planner);
void mark_program(struct planner *planner);
int check_program(struct planner *planner);
void note_other_names(struct planner *planner);
void note_ring(struct planner *planner);
/* Iterates over the paths that execvp() would try: one path, or the name in each directory of PATH.
 * *@at must be NULL at first; returns NULL at the end. */
const char *next_candidate(struct planner *planner, const char **at);
/* The command's working directory, if an option or the policy names it; or NULL. */
const char *asked_directory(struct planner *planner);
int add_working_directory(struct planner *planner);

/* network.c */
int choose_network(struct planner *planner);
uint16_t planner_proxy_port(const struct planner *planner); /* port inside, for net mode proxy */
int mark_sockets(struct planner *planner);
void add_network(struct planner *planner);
/* The policy's setting or the option that names the port of the host's loopback. */
struct step_origin origin_of_port(struct planner *planner, uint16_t port, bool bind);
/* Does Landlock restrict TCP ports? */
bool is_limiting_ports(const struct planner *planner);
/* Refuses --ptrace if it cannot be allowed safely. */
int check_ptrace(struct planner *planner);
void add_filter(struct planner *planner);

/* limits.c */
int choose_limits(struct planner *planner);
int hold_limits(struct planner *planner);
uint64_t tmp_size(const struct planner *planner);
void add_cgroup(struct planner *planner);
void add_rlimits(struct planner *planner);

/* decision.c: a path inside, and the outside path of its content. */
struct asked_path {
	const char *path;
	const char *source;	  /* NULL: the same path */
	enum host_path_kind kind; /* a missing path might become a directory */
};
unsigned rights_of(uint64_t operations);
uint64_t operations_of(unsigned rights);
/* Composes the rules of policy, options and protections, after all marks are made. */
int decide_all(struct planner *planner);
/* Refuses ports to be let through that a rule denies. */
int decide_ports(struct planner *planner);
void decided_free(struct decided *decided);
/* Those of @wanted that the policy gives at the path: the evaluator is asked only about these. */
unsigned decided_rights(struct planner *planner, const struct asked_path *asked, unsigned wanted);
/* Those of @wanted that are granted at the path or below it, but not at both. */
unsigned decided_anywhere(struct planner *planner, const struct asked_path *asked, unsigned wanted);
/* May a program be executed that no rule names, wherever it is? */
bool decided_exec_everywhere(struct planner *planner);
/* Finds the rule that denies one of @rights; false if none does. */
bool decided_denial(struct planner *planner, const struct asked_path *asked, unsigned rights,
		    struct step_origin *ret);
int place_find_rights(struct planner *planner, struct place *place);
/* For questions about the place's content. */
struct asked_path place_asked(const struct place *place);
/* Finds the rule that denies @rights at the place; false if none does. */
bool place_find_denial(struct planner *planner, const struct place *place, unsigned rights,
		       struct step_origin *ret);
/* Does sbx make the content, so that no rule applies to it? */
bool place_is_made(const struct place *place);
/* Origin of the mark at the place that grants one of @rights, or else of its content. */
struct step_origin place_find_origin(const struct place *place, unsigned rights);
/* Do all denials here apply only to files that exist on the host? */
bool place_is_only_guarded(const struct place *place);
/* The optional mount at the place that has no source, so that nothing is mounted; or NULL. Rules
 * below the place are about the mount's content, so what the host has there must not be visible. */
const struct mark *place_find_absent_mount(const struct place *place);
/* Must it be a mount point, so that it cannot be renamed? */
bool place_is_pinned(const struct place *place);

/* view.c */
int view_build(struct planner *planner);
/* Does the mark mount other files of the host at its path? */
bool mark_is_mount(const struct mark *mark);
/* The innermost mount with another source at or above @path, or NULL. */
const struct mark *view_find_mount(const struct planner *planner, const char *path);
/* Where a mount is whose target is @target: the links that are followed outside lead there. */
const char *planner_real_target(const struct planner *planner, const char *target);
/* The size of a tmpfs that has room for the names of all places: at least @size. */
uint64_t view_find_size(const struct planner *planner, uint64_t size);
/* The outside path of what @mark names: in the source of the mount around it, if there is one. */
const char *view_outside(struct planner *planner, const struct mark *mark);
/* The place at, or nearest above, @path; or NULL. */
const struct place *view_find(const struct planner *planner, const char *path);
/* Is anything below @path visible? */
bool view_has_below(const struct planner *planner, const char *path);

/* show.c */
int show_places(struct planner *planner);
/* shown_begin() makes a row for each place, shown_of() returns the one of @place. */
int shown_begin(struct planner *planner);
struct shown *shown_of(const struct planner *planner, const struct place *place);
/* Is the place visible in the tree? */
bool shown_is_visible(const struct shown *shown);
/* If root starts the sandbox: asks about the directories on the way to @mark, which other users may
 * be unable to search. */
void ask_about_mapped(struct planner *planner, const struct mark *mark);

/* landlock.c */
void landlock_place(struct planner *planner, struct shown *shown);
int landlock_alone(struct planner *planner); /* without a mount view */
void add_landlock(struct planner *planner);

/* permits.c: refuses steps that permit more than was decided. */
int compare_with_decisions(struct planner *planner);

/* step.c */
extern const struct flag_names names_of_accesses; /* all access rights that Landlock handles */
