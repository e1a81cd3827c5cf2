/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The steps of a plan: their kinds, what each of them says, and the table that names all of it
 *
 * A kind is a value of enum step_kind, a small struct in the union of struct step, a row of the
 * table in step.c, and a row of KERNEL_STEPS() in lib/kernel/kernel-internal.h. Printing, JSON and
 * error messages go by the row: no reader of a whole plan knows each kind.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plan/layers.h"

struct plan;
struct text;

/*
 * In the order in which steps are carried out. A plan is sorted by kind, but for the kinds that put
 * something into the file tree (bind to pts): these are sorted by target, component by component,
 * so that a mount comes before the mounts in it. All sources are opened before the first of them.
 * A step whose target is in a tmpfs of the sandbox (the root, too) makes its target, a directory or
 * a file; the directories on the way to it have steps of their own. A target in a bind mount of the
 * host exists already.
 */
enum step_kind {
	/* In the supervisor, before clone(). */
	STEP_CGROUP,
	STEP_CGROUP_LIMIT,
	STEP_SCOPE,
	STEP_SCOPE_LIMIT,
	STEP_NAMESPACES,

	/* In PID 1 of the sandbox, as its own root, while the old tree is still there. */
	STEP_ID_MAP,
	STEP_ROOT,
	STEP_PIVOT, /* the old tree is gone, before anything is put into the new one: no link
		       in a target can lead out */
	STEP_BIND,
	STEP_TMPFS,
	STEP_OVERLAY,
	STEP_MASK,
	STEP_LINK,
	STEP_DIRECTORY,
	STEP_FILE,
	STEP_PROC,
	STEP_PTS,
	STEP_SEAL, /* becomes read-only: the tmpfs that carries all others */
	STEP_HOSTNAME,
	STEP_LOOPBACK, /* up */
	STEP_LISTEN,   /* on 127.0.0.1 inside; handed to the supervisor */

	/* In PID 1, for itself and all that it will start; every one takes something away for ever.
	 */
	STEP_RLIMIT,
	STEP_IDENTITY,	   /* no other group; verified */
	STEP_CAPABILITIES, /* none, in no set, never again */
	STEP_NO_NEW_PRIVILEGES,
	STEP_LANDLOCK,
	STEP_LANDLOCK_PATH,
	STEP_LANDLOCK_PORT,
	STEP_LANDLOCK_ENFORCE,
	STEP_TERMINAL, /* a pty inside, as the controlling terminal of PID 1: the command can be
			  stopped by it only where its parent is in the same session */

	/* In the process that becomes the command. */
	STEP_WORKING_DIRECTORY,
	STEP_SECCOMP,
	STEP_EXEC,
	N_STEP_KINDS,
};

/* Names in the root with this beginning are what masks are made of, and no step's target. */
#define MASK_NAMES "/.masked-"

enum step_stage {
	STAGE_SUPERVISOR,
	STAGE_BUILD,   /* PID 1 while it is root of its namespaces */
	STAGE_CONFINE, /* PID 1 gives up */
	STAGE_COMMAND,
	N_STAGES,
};

/* Where a step comes from. */
enum origin_kind {
	ORIGIN_BUILT_IN,
	ORIGIN_RULE,	 /* text: "p.yaml:14 'runtime'" */
	ORIGIN_ARGUMENT, /* text: "--read" */
	ORIGIN_TEMPLATE, /* text: "code-executor" */
};

struct step_origin {
	enum origin_kind kind;
	const char *text;
};

/* In all structs below: target is an absolute path inside, source one outside. */

struct mount_attributes {
	bool is_read_only;
	bool no_exec;
	bool devices; /* device nodes work */
};

/* Files that uid and gid own outside belong to the command's user inside: an idmapped mount, made
 * by root before it gives up being root. */
#define STEP_NO_GID ((gid_t)-2) /* no file's: what only groups may do stays closed */
struct step_owner {
	bool is_set;
	uid_t uid;
	gid_t gid;
	bool optional; /* if the file system does not support it, the directory is shown as it is */
	bool not_of_system; /* not mapped where the opened directory is one of the system's by
			       another name, as a bind mount of /etc is */
};

struct step_cgroup {
	const char *path; /* of its directory */
};

struct step_cgroup_limit {
	const char *file;
	const char *value; /* what is written to it */
	bool optional;	   /* a kernel may lack the file */
};

struct step_scope {
	const char *unit;
};

struct step_scope_limit {
	const char *property;
	uint64_t value;
};

struct step_namespaces {
	uint64_t clone_flags; /* CLONE_NEW* */
};

/* id-map and identity */
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
	bool is_socket;	    /* shown to be connected to */
	bool may_be_closed; /* as for a mask */
	struct step_owner owner;
};

struct step_tmpfs {
	const char *target;
	uint64_t size_bytes;
	mode_t mode;
	struct mount_attributes attributes;
	bool shared; /* all that are shared are one file system: the size is that of all together */
};

/* Without an upper directory, what is written goes to a fresh tmpfs of size_bytes and is lost. */
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
	bool optional;	    /* the host was not asked whether the target is there */
	bool may_be_closed; /* where a directory on the way is closed to the command's user, the
			       command cannot get there, and it is left out */
};

struct step_link {
	const char *target;
	const char *points_to;
};

struct step_directory {
	const char *target;
	mode_t mode;
};

/* A copy: the source is read outside. With a line that is added to it, it may also be put over a
 * file that is shown from outside. */
struct step_file {
	const char *target;
	const char *source;
	mode_t mode;
	const char *added; /* or NULL */
};

struct step_proc {
	const char *target;
	struct mount_attributes attributes;
};

/* pts, seal and working-directory */
struct step_place {
	const char *target;
};

struct step_hostname {
	const char *name;
};

struct step_listen {
	uint16_t port;
	const char *purpose; /* "connect" (carried to the same port of the host) or "proxy" */
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

struct step_landlock_port {
	uint16_t port;
	uint64_t rights;
};

struct step_seccomp {
	const char *profile;
	unsigned variants; /* enum filter_variant */
};

/* Which member of the union is valid is what kind says; pivot, loopback, capabilities,
 * no-new-privileges, landlock-enforce, terminal and exec have none. */
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
		struct step_landlock_port landlock_port;
		struct step_place working_directory;
		struct step_seccomp seccomp;
	};
};

enum field_type {
	FIELD_TARGET, /* strings; NULL: the step has none */
	FIELD_SOURCE, /* printed as text only where it differs from the target */
	FIELD_STRING,
	FIELD_BOOL,
	FIELD_NUMBER,
	FIELD_BYTES, /* 0: the step has none */
	FIELD_MODE,  /* octal */
	FIELD_NAMES, /* a set of bits, each with a name */
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
	const char *name; /* in JSON, and between braces in step_row.failing */
	enum field_type type;
	size_t offset; /* in struct step */
	size_t size;
	const char *before;		 /* it in a printed plan; NULL: it is not printed there */
	const struct flag_names *names;	 /* of FIELD_NAMES */
	const struct flag_names *spoken; /* in a printed plan; NULL: names */
};

/* One row a kind: its name, where it runs, the layer that it is part of, and how it is printed. */
struct step_row {
	const char *name; /* "bind" */
	enum step_stage stage;
	enum layer layer;		 /* 0: none */
	const char *failing;		 /* "cannot bind '{target}' into the sandbox", for errors */
	const struct step_field *fields; /* ended by one without a name; NULL: none */
	/* Adds to a printed plan after the fields; or NULL. */
	void (*tell)(struct text *out, const struct plan *plan, const struct step *step);
};
const struct step_row *step_row(enum step_kind kind);

/* NULL where the kind has no target. */
const char *step_target(const struct step *step);
/* The string in the field that the first @n bytes of @name name; NULL where there is none. */
const char *step_string(const struct step *step, const char *name, size_t n);

/* The value of @field, by its type. */
const char *step_field_string(const struct step *step, const struct step_field *field);
uint64_t step_field_number(const struct step *step, const struct step_field *field);
const struct step_owner *step_field_owner(const struct step *step, const struct step_field *field);
