/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The steps of a plan: their kinds, the struct of each, and the table that describes them
 *
 * A kind is a value of enum step_kind, a small struct in the union of struct step, a row of the
 * table in step.c, and a row of KERNEL_STEPS() in lib/kernel/kernel-internal.h. Text, JSON and
 * error messages are made from the row: no code that handles a whole plan knows each kind.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plan/layers.h"

struct plan;
struct text;

/*
 * In the order in which steps are carried out. A plan is sorted by kind, except for the kinds that
 * put something into the file tree (bind to pts): these are sorted by target, component by
 * component, so that a mount comes before the mounts in it. All sources are opened before the first
 * of them. A step whose target is in a tmpfs of the sandbox (including the root) creates its
 * target, a directory or a file; the directories on the way to it have their own steps. A target in
 * a bind mount of the host exists already.
 */
enum step_kind {
	/* In the supervisor, before clone(): */
	STEP_CGROUP,
	STEP_CGROUP_LIMIT,
	STEP_SCOPE,
	STEP_SCOPE_LIMIT,
	STEP_NAMESPACES,

	/* In PID 1 of the sandbox, as root of its user namespace, while the old tree is still
	 * mounted: */
	STEP_ID_MAP,
	STEP_ROOT,
	STEP_PIVOT, /* unmounts the old tree before anything is put into the new one: no link in a
		       target can lead out */
	STEP_BIND,
	STEP_TMPFS,
	STEP_OVERLAY,
	STEP_MASK,
	STEP_LINK,
	STEP_DIRECTORY,
	STEP_FILE,
	STEP_PROC,
	STEP_PTS,
	STEP_SEAL, /* makes the root tmpfs, which carries all others, read-only */
	STEP_HOSTNAME,
	STEP_LOOPBACK, /* sets it up */
	STEP_LISTEN,   /* on 127.0.0.1 inside; the fd is sent to the supervisor */

	/* In PID 1, for itself and all that it will start; each step takes something away
	 * irrevocably: */
	STEP_RLIMIT,
	STEP_IDENTITY,	   /* also drops all supplementary groups, and verifies it */
	STEP_CAPABILITIES, /* empties all capability sets for good */
	STEP_NO_NEW_PRIVILEGES,
	STEP_LANDLOCK,
	STEP_LANDLOCK_PATH,
	STEP_LANDLOCK_STREAMS, /* stdin, stdout and stderr can be opened again, as /dev/stderr */
	STEP_LANDLOCK_PORT,
	STEP_LANDLOCK_ENFORCE,
	STEP_TERMINAL, /* a pty inside becomes PID 1's controlling terminal: job control can stop
			  the command only if its parent is in the same session */

	/* In the process that becomes the command: */
	STEP_WORKING_DIRECTORY,
	STEP_SECCOMP,
	STEP_EXEC,
	N_STEP_KINDS,
};

/* Names of mask sources in the root begin with this; no step's target may. */
#define MASK_NAMES "/.masked-"

enum step_stage {
	STAGE_SUPERVISOR,
	STAGE_BUILD,   /* PID 1 as root of its namespaces */
	STAGE_CONFINE, /* PID 1 drops privileges */
	STAGE_COMMAND,
	N_STAGES,
};

/* The origin of a step. */
enum origin_kind {
	ORIGIN_BUILT_IN,
	ORIGIN_RULE,	 /* text is like "p.yaml:14 'runtime'" */
	ORIGIN_ARGUMENT, /* text is like "--read" */
	ORIGIN_TEMPLATE, /* text is like "code-executor" */
	ORIGIN_CALLER,	 /* a hard limit; text is like "ulimit -Hn" */
};

struct step_origin {
	enum origin_kind kind;
	const char *text;
};

/* In all structs below, target is an absolute path inside, source one outside. */

struct mount_attributes {
	bool is_read_only;
	bool no_exec;
	bool devices; /* device nodes work (no MS_NODEV) */
};

/* An idmapped mount: files that uid and gid own outside belong to the command's user inside.
 * Created while the supervisor is real root. */
#define STEP_NO_GID ((gid_t)-2) /* owns no file, so access by group stays denied */
struct step_owner {
	bool is_set;
	uid_t uid;
	gid_t gid;
	bool optional;	    /* if the file system does not support idmapped mounts, the directory is
			       mounted without */
	bool not_of_system; /* do not map a system directory that was opened by another name, such
			       as a bind mount of /etc */
};

struct step_cgroup {
	const char *path; /* of the cgroup's directory */
	bool has_child;	  /* the processes are in a child of it, so that none of them can mount and
			     change it */
};

struct step_cgroup_limit {
	const char *file;
	const char *value; /* written to the file */
	bool optional;	   /* the kernel may lack the file */
};

struct step_scope {
	const char *unit;
	bool has_child; /* like that of a cgroup */
};

struct step_scope_limit {
	const char *property;
	uint64_t value;
};

struct step_namespaces {
	uint64_t clone_flags; /* CLONE_NEW* */
};

/* for id-map and identity */
struct step_ids {
	uid_t uid;
	gid_t gid;
};

struct step_root {
	uint64_t size_bytes; /* of the tmpfs that becomes "/" */
};

struct step_bind {
	const char *target;
	const char *source;
	bool is_directory;
	struct mount_attributes attributes;
	bool is_socket;	    /* mounted so that the command can connect to it */
	bool may_be_closed; /* see struct step_mask */
	struct step_owner owner;
};

struct step_tmpfs {
	const char *target;
	uint64_t size_bytes;
	mode_t mode;
	struct mount_attributes attributes;
	bool shared; /* all shared ones are one file system with one size limit */
};

/* Without an upper directory, writes go to a fresh tmpfs of size_bytes and are lost. */
struct step_overlay {
	const char *target;
	const char *source; /* the lower directory */
	const char *upper;
	const char *work;
	uint64_t size_bytes;
	struct mount_attributes attributes;
	struct step_owner owner; /* of the lower directory */
};

struct step_mask {
	const char *target;
	bool is_directory;
	bool optional;	    /* the target may be missing: the host was not asked */
	bool may_be_closed; /* skip the step if a directory on the way is closed to the command's
			       user, which then cannot reach the target either */
};

struct step_link {
	const char *target;
	const char *points_to;
};

struct step_directory {
	const char *target;
	mode_t mode;
};

/* A copy of the source, which is read outside. If a line is added, the copy may also be mounted
 * over a visible file of the host. */
struct step_file {
	const char *target;
	const char *source;
	mode_t mode;
	const char *added; /* the line, or NULL */
};

struct step_proc {
	const char *target;
	struct mount_attributes attributes;
};

/* for pts, seal and working-directory */
struct step_place {
	const char *target;
};

struct step_hostname {
	const char *name;
};

#define LISTEN_IPV4 "127.0.0.1"
#define LISTEN_IPV6 "[::1]"

struct step_listen {
	const char *address; /* LISTEN_IPV6: left out where the kernel has no IPv6 */
	uint16_t port;
	const char *purpose; /* "connect" (forwarded to the same port of the host) or "proxy" */
};

struct step_rlimit {
	const char *name; /* "nofile" */
	int resource;	  /* RLIMIT_* */
	uint64_t limit;
};

struct step_landlock {
	uint64_t file_rights;
	uint64_t port_rights;
	uint64_t scopes;
};

struct step_landlock_path {
	const char *target;
	uint64_t rights;
};

/* Each stream gets those of them that its open mode has already. */
struct step_landlock_streams {
	uint64_t rights;
};

struct step_landlock_port {
	uint16_t port;
	uint64_t rights;
};

struct step_seccomp {
	const char *profile;
	unsigned variants; /* enum filter_variant */
};

/* kind selects the union's member; pivot, loopback, capabilities, no-new-privileges,
 * landlock-enforce, terminal and exec have none. */
struct step {
	enum step_kind kind;
	struct step_origin origin;
	union {
		struct step_cgroup cgroup;
		struct step_cgroup_limit cgroup_limit;
		struct step_scope scope;
		struct step_scope_limit scope_limit;
		struct step_namespaces namespaces;
		struct step_ids id_map;
		struct step_root root;
		struct step_bind bind;
		struct step_tmpfs tmpfs;
		struct step_overlay overlay;
		struct step_mask mask;
		struct step_link link;
		struct step_directory directory;
		struct step_file file;
		struct step_proc proc;
		struct step_place pts;
		struct step_place seal;
		struct step_hostname hostname;
		struct step_listen listen;
		struct step_rlimit rlimit;
		struct step_ids identity;
		struct step_landlock landlock;
		struct step_landlock_path landlock_path;
		struct step_landlock_streams landlock_streams;
		struct step_landlock_port landlock_port;
		struct step_place working_directory;
		struct step_seccomp seccomp;
	};
};

enum field_type {
	FIELD_TARGET, /* a string; NULL: the step has none */
	FIELD_SOURCE, /* in text only printed if it differs from the target */
	FIELD_STRING,
	FIELD_BOOL,
	FIELD_NUMBER,
	FIELD_BYTES, /* 0: the step has none */
	FIELD_MODE,  /* octal */
	FIELD_NAMES, /* a set of named bits */
	FIELD_OWNER,
};

struct flag_name {
	unsigned flag;
	const char *name;
};

struct flag_names {
	const struct flag_name *rows;
	size_t n;
};

/* One member of a kind's struct. */
struct step_field {
	const char *name; /* name in JSON, and between braces in step_row.failing */
	enum field_type type;
	size_t offset; /* in struct step */
	size_t size;
	const char *before;		 /* printed before it in text; NULL: not printed in text */
	const struct flag_names *names;	 /* for FIELD_NAMES */
	const struct flag_names *spoken; /* names in text; NULL: the same */
};

/* One row per kind: its name, the stage in which it runs, its layer, and its printed form. */
struct step_row {
	const char *name; /* "bind" */
	enum step_stage stage;
	enum layer layer;    /* 0: none */
	const char *failing; /* for errors, like "cannot bind '{target}' into the sandbox" */
	const struct step_field *fields; /* terminated by one without a name; NULL: none */
	/* Adds text after the fields; may be NULL. */
	void (*tell)(struct text *out, const struct plan *plan, const struct step *step);
};
const struct step_row *step_row(enum step_kind kind);

/* The first step that is of no kind, or of one that has to come before that of the step before it;
 * @n_steps if the order is right. */
size_t steps_find_disorder(const struct step *steps, size_t n_steps);

/* NULL if the kind has no target. */
const char *step_target(const struct step *step);
/* The kind must have one. */
void step_set_target(struct step *step, const char *target);
/* The string in the field with the name @name[0..n), or NULL. */
const char *step_string(const struct step *step, const char *name, size_t n);

/* The value of @field, for its type. */
const char *step_field_string(const struct step *step, const struct step_field *field);
uint64_t step_field_number(const struct step *step, const struct step_field *field);
const struct step_owner *step_field_owner(const struct step *step, const struct step_field *field);
