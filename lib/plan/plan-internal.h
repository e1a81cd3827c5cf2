/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The parts of plan_build(), and what they hand to each other
 *
 *   enter.c        may sbx-ctl exec enter?
 *   planner.c      memory, lists, notices, messages
 *   origin.c       where something comes from, in words
 *   template.c     templates and defaults; template, profile and network mode of this plan
 *   tier.c         which layers there will be, or why not
 *   identity.c     who the command is
 *   rules.c        policy rules → marks     rule-paths.c   the paths of one rule
 *   system.c       the built-in view → marks
 *   grants.c       what options and mounts name → marks
 *   home.c         the command's home → marks
 *   credentials.c  what grants of options and of the working directory lose
 *   guard.c        built-in denials; git.c  a repository's hooks and configuration
 *   devices.c      /dev → marks             program.c      what is executed, and where
 *   view.c         marks → places           rights.c       what each place may do
 *   decided.c      what the evaluator says of a path
 *   show.c         places → steps           entries.c      what stands at one of them
 *   landlock.c     the same again, by Landlock
 *   permits.c      what finished steps permit at a path
 *   compare.c      refuses steps that permit more than was decided
 *   limits.c       which limits             holders.c      who holds them
 *   environment.c  network.c  filter.c      links.c        symbolic links on the way to marks
 *   mapped.c       what only root may read     accounts.c   the command's line of /etc/passwd
 *   marks.c        calls those that mark    paths.c        which paths the host is asked about
 *   step.c         the table of step kinds  print.c, print-json.c  a plan as text
 *
 * A mark says that a path matters, and what is put there; places are the paths that have marks, as
 * a tree. What may be done at a place no mark decides: the evaluator is asked (decided.c). What no
 * mark is about has the rights of the place above it.
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
#include "policy/net-mode.h"

#define DEFAULT_GRACE_USEC UINT64_C(2000000)
#define DEFAULT_TMP_SIZE (UINT64_C(512) << 20)
#define SHM_SIZE (UINT64_C(64) << 20)
#define ROOT_SIZE (UINT64_C(16) << 20)
/* Of a directory that holds nothing but what other mounts are put on. */
#define VEIL_SIZE (UINT64_C(1) << 20)
/* No other user has it, and no two living processes the same pid. */
#define OWN_UID_BASE 2000000000u
/* Listeners that one sandbox can have. */
#define LISTENERS_MAX LOOPBACK_PORTS_MAX

/* The same bits as enum filter_variant, which this folder does not know; the unit test compares. */
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
	MARK_EXCEPT, /* a rule has an exception here: what holds is asked anew */
	MARK_PIN, /* a folder that must not be renamed, because what is below it is held by name */
};

/* What stands at a path inside. */
enum content {
	CONTENT_HOST, /* what stands outside, there or at the mark's source */
	CONTENT_TMPFS,
	CONTENT_OVERLAY, /* of what stands outside */
	CONTENT_SOCKET,
	CONTENT_DEVICE,
	CONTENT_FOLDER,
	CONTENT_LINK,
	CONTENT_COPY,
	CONTENT_PROC,
	CONTENT_PTS,
};

enum mark_flag {
	MARK_ASKED = 1 << 0,	/* by an option or a mount: cannot be had is an error */
	MARK_OPTIONAL = 1 << 1, /* but it may be missing */
	MARK_ALONE = 1 << 2,	/* a glob that names a folder and not what is below it */
	MARK_GUARD = 1 << 3,	/* built-in: where it is missing, it cannot be made */
	MARK_OURS = 1 << 4,	/* made by us: the host is not asked about it */
	MARK_DROPPED = 1 << 5,	/* is not there outside, or something else stands at its place */
	MARK_RULED = 1 << 6,	/* a rule of the policy or its view: no rule is to be added */
	MARK_TOLD = 1 << 7,	/* a notice says that it is dropped */
	MARK_OWNED = 1 << 8,	/* looks as if it belonged to the command's user, also read-only */
	MARK_SHARED = 1 << 12,	/* a tmpfs that has one size with all others that are shared */
	MARK_WIDE = 1 << 14,	/* shown because the working directory is the root */
	MARK_MAPPED = 1 << 13,	/* named by root: what root owns there may be read */
	MARK_PROJECT = 1 << 9,	/* of the working directory, by the built-in view */
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
	const char *text;  /* of a link; upper folder of an overlay */
	const char *extra; /* work folder of an overlay */
	uint64_t value;	   /* size */
	uint64_t second;   /* mode */
	struct step_origin origin;
	struct list excepts; /* struct composed_except: what the grant does not include */

	/* What the view finds out. */
	const struct host_path *facts; /* of what stands outside, or NULL */
	const char *place;	       /* inside, without links */
	size_t number;		       /* among all marks */
};

struct place {
	const char *path;
	struct mark *const *marks;
	size_t n_marks;
	const struct place *parent;
	/* The place whose content this one shows a part of: itself, one above it, or NULL: what
	 * stands at the same path outside. */
	const struct place *base;
	/* The place whose mount is what can be seen here: itself, one above it, or NULL: the root.
	 */
	const struct place *carrier;
	const struct mark *winner; /* the mark that says what stands here, or NULL */
	const struct host_path *facts;
	const char *source; /* outside; or NULL */
	unsigned rights;
	unsigned landlocked; /* what Landlock rules at and above this place give, as rights */
	bool is_writable;    /* as a carrier */
	bool is_mapped;
	bool is_executable;
	bool is_hidden;
};

struct landlock_path {
	const char *path;
	unsigned rights;
	bool is_folder;
	struct step_origin origin;
};

struct template
{
	const char *name;
	const char *profile;
	uint64_t limits[N_LIMITS]; /* 0: none */
};

struct planner {
	const struct policy *policy; /* or NULL */
	const struct spawn_request *request;
	const struct host *host; /* NULL while paths are only listed */
	struct arena *arena;	 /* of what is made */
	struct arena *scratch;	 /* what nobody needs afterwards */
	struct text text;
	struct sbx_error *err;
	struct plan *plan;
	bool no_memory;
	_Alignas(max_align_t) unsigned char spare[256]; /* written to where there is no memory */

	const struct template *template;
	const char *profile;
	const char *net_mode;
	char **environment; /* of the command */
	const char *home;   /* where its private home is, or NULL: it has none */
	bool is_nested;
	bool exec_everywhere;
	bool has_exec_rules;
	bool is_using_inet;
	bool is_limiting_ports;
	uint64_t file_size_max; /* of the rules' constraints; UINT64_MAX: none */
	struct step_origin file_size_origin;
	bool in_cgroup;
	bool in_scope;

	struct list marks;	 /* struct mark * */
	struct decided *decided; /* from decide_all() on */
	struct place *places;	 /* by path */
	size_t n_places;
	struct list steps;   /* struct step */
	struct list asked;   /* const char *: paths of no mark, for the host */
	struct list made;    /* const char *: what the caller makes before it asks the host */
	struct list tops;    /* struct plan_top */
	struct list notices; /* struct plan_notice */
	struct list landlock_paths;
	struct list ports;     /* struct request_port */
	struct list creatable; /* const char *: missing startup files in what may be written */
	const char *last_target;
};

/* planner.c. What adds never fails by itself: without memory it gives something to write to, and
 * planner_status() says so at the end. */
void *list_add(struct planner *planner, struct list *list, size_t row_size);
void *planner_alloc(struct planner *planner, size_t n_bytes); /* as long as the plan lives */
const char *planner_keep(struct planner *planner, const char *string);
const char *planner_format(struct planner *planner, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));
/* "/a" and "b/c" are "/a/b/c"; "" adds nothing. */
const char *planner_join(struct planner *planner, const char *folder, const char *rest);
struct step *planner_add_step(struct planner *planner, enum step_kind kind,
			      struct step_origin origin);
struct mark *planner_add_mark(struct planner *planner, enum mark_kind kind, const char *path,
			      unsigned rights, struct step_origin origin);
void planner_note(struct planner *planner, bool is_weaker, const char *what, const char *why);
void planner_add_notice(struct planner *planner, struct plan_notice notice);
int planner_status(struct planner *planner);
/* What, with the place it comes from, then why and fix; @code. */
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

/* origin.c */
struct step_origin origin_of_rule(struct planner *planner, const struct rule *rule);
struct step_origin origin_of_setting(struct planner *planner, const struct setting *setting);
struct step_origin origin_of_option(struct planner *planner, const char *option);
extern const struct step_origin origin_built_in;
extern const struct step_origin origin_default; /* of a limit */
/* "p.yaml:14 'runtime'", "--read", "the built-in view" */
const char *origin_text(const struct step_origin *origin);

/* enter.c */
bool may_enter(struct planner *planner);

/* template.c */
const struct template *template_find(const char *name);
/* What holds where neither a policy nor a template is named; no name finds it. */
extern const struct template template_default;
int choose_template(struct planner *planner);

/* tier.c */
int choose_tier(struct planner *planner);
int check_layers(struct planner *planner);
void add_namespaces(struct planner *planner);

/* identity.c */
int choose_identity(struct planner *planner);
bool is_real_root(const struct host *host);

/* rules.c, rule-paths.c */
int mark_rules(struct planner *planner);
int mark_values(struct planner *planner, const struct condition *condition, enum mark_kind kind,
		unsigned rights, struct step_origin origin);
/* What is allowed at "/" is allowed in these, since "/" itself is ours. */
void mark_everything(struct planner *planner, unsigned rights, unsigned flags,
		     struct step_origin origin);

/* home.c: after everything that may show the host's home. */
void mark_home(struct planner *planner);
/* Can a directory of the user's be there? */
bool home_is_usable(const char *path);

/* mapped.c */
/* For a start by root: the directories on the way to @mark, which may be closed to others. */
void ask_about_mapped(struct planner *planner, const struct mark *mark);
/* As whom the files at @place are shown read-only. */
struct step_owner mapped_owner(struct planner *planner, const struct place *place);
/* Is it shown by @carrier so far, and can a mount of its own be put there? */
bool mapped_needs_mount(struct planner *planner, const struct place *place,
			const struct place *carrier);

/* accounts.c: after the tree, into which it puts files. */
void add_accounts(struct planner *planner);
/* credentials.c: after all grants are marked; and once rights are known, what is said about it. */
int mark_credentials(struct planner *planner);
void note_credentials(struct planner *planner);
/* Is nothing about the place but what grants lose? */
bool place_is_of_credentials(const struct place *place);

/* system.c, grants.c, guard.c, git.c, devices.c */
void mark_system(struct planner *planner);
/* Last: the host's links on the way to what is marked. */
void mark_links(struct planner *planner);
int mark_requested(struct planner *planner);
int mark_mounts(struct planner *planner);
int mark_secrets(struct planner *planner);
/* Of the home, to read and execute, as by an option; @name says what names it. */
void mark_shown(struct planner *planner, const char *path, const char *name);
/* The directories on the way to a path. */
void ask_about_way(struct planner *planner, const char *path);
void mark_guarded(struct planner *planner);
/* A row that what @mark shows through a link of root's contains or lies in; or NULL. */
const struct guarded *guard_find_behind_link(const struct planner *planner,
					     const struct mark *mark);
int mark_git(struct planner *planner);
int mark_devices(struct planner *planner);
/* Is @path @folder or below it? Both are normal. */
bool is_below(const char *path, const char *folder);

/* All of the above, in the order in which they need each other. */
int mark_all(struct planner *planner);

/* program.c */
/* May only what is named be executed? */
bool is_limiting_exec(const struct planner *planner);
void mark_program(struct planner *planner);
int check_program(struct planner *planner);
void note_other_names(struct planner *planner);
/* The folder that the command starts in, as it was asked for; NULL: nobody did. */
const char *asked_folder(struct planner *planner);
int add_folder(struct planner *planner);
/* Steps through what the command may be: a path, or the name in each folder of PATH. *@at is NULL
 * at first; NULL at the end. */
const char *next_candidate(struct planner *planner, const char **at);

/* view.c */
int compare_by_component(const char *a, const char *b);
int view_build(struct planner *planner);
/* The place at or nearest above @path, or NULL. */
const struct place *view_find(const struct planner *planner, const char *path);
/* Is something below @path shown? */
bool view_has_below(const struct planner *planner, const char *path);

/* decided.c: a path as the sandbox sees it, and where its content is outside. */
struct asked_path {
	const char *path;
	const char *source;	  /* or NULL: the same path */
	enum host_path_kind kind; /* what is missing may become a directory */
};
unsigned rights_of(uint64_t operations);
uint64_t operations_of(unsigned rights);
/* Composes the rules of policy, options and protections; after all marks are made. */
int decide_all(struct planner *planner);
/* Does a rule deny a port that is to be carried through? */
int decide_ports(struct planner *planner);
void decided_free(struct decided *decided);
unsigned decided_rights(struct planner *planner, const struct asked_path *asked);
/* What is allowed at the path or below it, though not at both. */
unsigned decided_anywhere(struct planner *planner, const struct asked_path *asked);
/* Those of @rights that a rule denies, rather than that no rule allows them. */
unsigned decided_denied(struct planner *planner, const struct asked_path *asked, unsigned rights);
/* The rule that denies one of @rights; false where none does. */
bool decided_denial(struct planner *planner, const struct asked_path *asked, unsigned rights,
		    struct step_origin *ret);

/* compare.c */
int compare_with_decisions(struct planner *planner);

/* rights.c */
int place_find_rights(struct planner *planner, struct place *place);
/* What denies @rights at the place; false where nothing does. */
bool place_find_denial(struct planner *planner, const struct place *place, unsigned rights,
		       struct step_origin *ret);
/* Does sbx make what stands there, so that no rule is about it? */
bool is_made(const struct mark *winner);
bool place_is_made(const struct place *place);

/* Of the mark at the place that gives one of @rights, or of what stands there. */
struct step_origin place_find_origin(const struct place *place, unsigned rights);
/* Is what denies something here only there for what the host has? */
bool place_is_only_guarded(const struct place *place);
/* Must it be a mount, so that nobody renames it? */
bool place_is_pinned(const struct place *place);

/* entries.c */
/* Is @carrier ours, so that targets in it are made? NULL is the root. */
bool place_is_fresh(const struct place *carrier);
bool place_wants_write(const struct place *place);
bool place_wants_execution(const struct place *place);
/* What its winner says; what stands outside; nothing. */
void entry_show(struct planner *planner, struct place *place);
void entry_show_host(struct planner *planner, struct place *place);
void entry_hide(struct planner *planner, struct place *place);
/* An empty directory, in which what follows is put. */
void entry_veil(struct planner *planner, struct place *place);

/* show.c */
int show_places(struct planner *planner);
/* Does the place end up in the tree? */
bool place_is_shown(const struct place *place);

/* landlock.c */
void landlock_place(struct planner *planner, struct place *place);
int landlock_alone(struct planner *planner); /* without a mount view */
void add_landlock(struct planner *planner);

/* limits.c, holders.c */
int choose_limits(struct planner *planner);
int hold_limits(struct planner *planner);
uint64_t tmp_size(const struct planner *planner);
void add_cgroup(struct planner *planner);
void add_rlimits(struct planner *planner);
/* "1GiB", "0.5", "5m" */
void limit_add_value(struct text *out, enum limit limit, uint64_t value);

/* environment.c, network.c, filter.c */
/* The value of @name, or NULL. */
const char *environment_find(char *const *environment, const char *name);
int make_environment(struct planner *planner);
int choose_network(struct planner *planner);
uint16_t planner_proxy_port(const struct planner *planner); /* inside, of net mode proxy */
int mark_sockets(struct planner *planner);
void add_network(struct planner *planner);
void add_filter(struct planner *planner);
/* Can --ptrace be given here? */
int check_ptrace(struct planner *planner);
