/* SPDX-License-Identifier: MIT */

/*
 * The table of step kinds
 *
 * The fields of a kind are in the order in which they are printed.
 */

#include "plan/step.h"

#include <sched.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "plan/plan-internal.h"

#define NAMES(...)                                                                                 \
	{                                                                                          \
		(const struct flag_name[]) __VA_ARGS__,                                            \
			N_ELEMENTS(((const struct flag_name[])__VA_ARGS__))                        \
	}

static const struct flag_names namespaces = NAMES({
	{ CLONE_NEWUSER, "user" },
	{ CLONE_NEWNS, "mount" },
	{ CLONE_NEWPID, "pid" },
	{ CLONE_NEWIPC, "ipc" },
	{ CLONE_NEWUTS, "uts" },
	{ CLONE_NEWNET, "net" },
	{ CLONE_NEWCGROUP, "cgroup-namespace" },
});

static const struct flag_names variants = NAMES({
	{ VARIANT_INET, "inet" },
	{ VARIANT_NESTED, "nested" },
	{ VARIANT_NO_MEMFD_EXEC, "no-memfd-exec" },
	{ VARIANT_PORTS, "ports" },
	{ VARIANT_NO_NAMESPACES, "no-namespaces" },
	{ VARIANT_NO_SHM, "no-shm" },
	{ VARIANT_LOOPBACK, "loopback" },
	{ VARIANT_PTRACE, "ptrace" },
});

/* All access rights that Landlock handles, as the kernel's bits. */
const struct flag_names names_of_accesses = NAMES({
	{ 1 << 0, "execute" },
	{ 1 << 1, "write-file" },
	{ 1 << 2, "read-file" },
	{ 1 << 3, "read-dir" },
	{ 1 << 4, "remove-dir" },
	{ 1 << 5, "remove-file" },
	{ 1 << 6, "make-char" },
	{ 1 << 7, "make-dir" },
	{ 1 << 8, "make-reg" },
	{ 1 << 9, "make-sock" },
	{ 1 << 10, "make-fifo" },
	{ 1 << 11, "make-block" },
	{ 1 << 12, "make-sym" },
	{ 1 << 13, "refer" },
	{ 1 << 14, "truncate" },
	{ 1 << 15, "ioctl-dev" },
});

/* For text: one access right stands for each group. */
static const struct flag_names short_accesses = NAMES({
	{ 1 << 2, "read" },
	{ 1 << 3, "list" },
	{ 1 << 1, "write" },
	{ 1 << 0, "execute" },
	{ 1 << 15, "device" },
});

static const struct flag_names port_accesses = NAMES({ { 1 << 0, "bind" }, { 1 << 1, "connect" } });
static const struct flag_names scopes =
	NAMES({ { 1 << 0, "abstract-unix-socket" }, { 1 << 1, "signal" } });
static const struct flag_names any_port = NAMES({ { ~0u, "ports" } });
static const struct flag_names any_scope = NAMES({ { ~0u, "scopes" } });

static void tell_changes(struct text *out, const struct plan *plan, const struct step *step)
{
	const char *upper = step->overlay.upper;

	text_add(out, upper ? " changes to " : " changes are discarded");
	if (upper)
		text_add_visible(out, upper, strlen(upper));
}

static void tell_denied(struct text *out, const struct plan *plan, const struct step *step)
{
	for (size_t i = 0; plan->deny_syscalls && plan->deny_syscalls[i]; i++)
		text_addf(out, " -%s", plan->deny_syscalls[i]);
}

static void tell_command(struct text *out, const struct plan *plan, const struct step *step)
{
	for (char *const *word = plan->argv; *word; word++) {
		text_add_char(out, ' ');
		text_add_visible(out, *word, strlen(*word));
	}
}

#define FIELDS(...) ((const struct step_field[]){ __VA_ARGS__, { .name = NULL } })
#define MEMBER(member, called, kind, ...)                                                          \
	{                                                                                          \
		.name = (called), .type = (kind), .offset = offsetof(struct step, member),         \
		.size = sizeof(((const struct step *)NULL)->member), __VA_ARGS__                   \
	}
#define TARGET(of) MEMBER(of.target, "target", FIELD_TARGET, .before = " ")
#define SOURCE(of) MEMBER(of.source, "source", FIELD_SOURCE, .before = " from ")
#define STRING(of, member, text) MEMBER(of.member, #member, FIELD_STRING, .before = (text))
#define NUMBER(of, member, text) MEMBER(of.member, #member, FIELD_NUMBER, .before = (text))
#define BOOL(of, member, text) MEMBER(of.member, #member, FIELD_BOOL, .before = (text))
#define BYTES(of) MEMBER(of.size_bytes, "size_bytes", FIELD_BYTES, .before = " ")
#define SILENT_BYTES(of) MEMBER(of.size_bytes, "size_bytes", FIELD_BYTES)
#define MODE(of) MEMBER(of.mode, "mode", FIELD_MODE, .before = " ")
#define SILENT_MODE(of) MEMBER(of.mode, "mode", FIELD_MODE)
#define OWNER(of) MEMBER(of.owner, "owner", FIELD_OWNER, .before = " owned by ")
#define BITS(of, member, table, in_text)                                                           \
	MEMBER(of.member, #member, FIELD_NAMES, .before = " ", .names = &(table),                  \
	       .spoken = &(in_text))
#define ATTRIBUTE(of, member, text)                                                                \
	MEMBER(of.attributes.member, #member, FIELD_BOOL, .before = (text))
#define ATTRIBUTES(of)                                                                             \
	ATTRIBUTE(of, is_read_only, " read-only"), ATTRIBUTE(of, no_exec, " no-exec"),             \
		ATTRIBUTE(of, devices, " devices")
#define OPTIONAL(of) BOOL(of, optional, " optional")
#define IDS(of) NUMBER(of, uid, " uid "), NUMBER(of, gid, " gid ")

#define STEP(kind, name, stage, layer, ...)                                                        \
	[STEP_##kind] = { name, STAGE_##stage, layer, .failing = __VA_ARGS__ }

static const struct step_row rows[N_STEP_KINDS] = {
	STEP(CGROUP, "cgroup", SUPERVISOR, LAYER_CGROUP, "cannot create the cgroup '{path}'",
	     FIELDS(STRING(cgroup, path, " "), BOOL(cgroup, has_child, " with a child"))),
	STEP(CGROUP_LIMIT, "cgroup-limit", SUPERVISOR, LAYER_CGROUP,
	     "cannot set the cgroup's '{file}'",
	     FIELDS(STRING(cgroup_limit, file, " "), STRING(cgroup_limit, value, " "),
		    BOOL(cgroup_limit, optional, NULL))),
	STEP(SCOPE, "scope", SUPERVISOR, LAYER_CGROUP, "cannot create the scope '{unit}'",
	     FIELDS(STRING(scope, unit, " "), BOOL(scope, has_child, " with a child"))),
	STEP(SCOPE_LIMIT, "scope-limit", SUPERVISOR, LAYER_CGROUP,
	     "cannot set the scope's '{property}'",
	     FIELDS(STRING(scope_limit, property, " "), NUMBER(scope_limit, value, " "))),
	STEP(NAMESPACES, "namespaces", SUPERVISOR, LAYER_USER, "cannot create namespaces",
	     FIELDS(BITS(namespaces, clone_flags, namespaces, namespaces))),
	STEP(ID_MAP, "id-map", BUILD, LAYER_USER, "cannot map the command's user",
	     FIELDS(IDS(id_map))),
	STEP(ROOT, "root", BUILD, LAYER_MOUNT, "cannot create the sandbox's file tree",
	     FIELDS(BYTES(root))),
	STEP(PIVOT, "pivot", BUILD, LAYER_MOUNT, "cannot leave the host's file tree"),
	STEP(BIND, "bind", BUILD, LAYER_MOUNT, "cannot bind '{target}' into the sandbox",
	     FIELDS(TARGET(bind), SOURCE(bind),
		    MEMBER(bind.is_directory, "is_directory", FIELD_BOOL),
		    BOOL(bind, is_socket, " socket"), ATTRIBUTES(bind), OWNER(bind))),
	STEP(TMPFS, "tmpfs", BUILD, LAYER_MOUNT, "cannot mount a tmpfs on '{target}'",
	     FIELDS(TARGET(tmpfs), BYTES(tmpfs), SILENT_MODE(tmpfs), ATTRIBUTES(tmpfs),
		    BOOL(tmpfs, shared, " shared"))),
	STEP(OVERLAY, "overlay", BUILD, LAYER_MOUNT, "cannot mount an overlay on '{target}'",
	     FIELDS(TARGET(overlay), SOURCE(overlay), ATTRIBUTES(overlay), OWNER(overlay),
		    STRING(overlay, upper, NULL), STRING(overlay, work, NULL),
		    SILENT_BYTES(overlay)),
	     .tell = tell_changes),
	STEP(MASK, "mask", BUILD, LAYER_MOUNT, "cannot hide '{target}'",
	     FIELDS(TARGET(mask),
		    MEMBER(mask.is_directory, "is_directory", FIELD_BOOL, .before = " directory"),
		    OPTIONAL(mask))),
	STEP(LINK, "link", BUILD, LAYER_MOUNT, "cannot create the link '{target}'",
	     FIELDS(TARGET(link), STRING(link, points_to, " to "))),
	STEP(DIRECTORY, "directory", BUILD, LAYER_MOUNT, "cannot create the directory '{target}'",
	     FIELDS(TARGET(directory), MODE(directory))),
	STEP(FILE, "file", BUILD, LAYER_MOUNT, "cannot copy a file to '{target}'",
	     FIELDS(TARGET(file), STRING(file, source, " from "), MODE(file),
		    STRING(file, added, " adding "))),
	STEP(PROC, "proc", BUILD, LAYER_MOUNT, "cannot mount '{target}'",
	     FIELDS(TARGET(proc), ATTRIBUTES(proc))),
	STEP(PTS, "pts", BUILD, LAYER_MOUNT, "cannot mount devpts on '{target}'",
	     FIELDS(TARGET(pts))),
	STEP(SEAL, "seal", BUILD, LAYER_MOUNT, "cannot make '{target}' read-only",
	     FIELDS(TARGET(seal))),
	STEP(HOSTNAME, "hostname", BUILD, LAYER_UTS, "cannot set the host name '{name}'",
	     FIELDS(STRING(hostname, name, " "))),
	STEP(LOOPBACK, "loopback", BUILD, LAYER_NET, "cannot set the loopback up"),
	STEP(LISTEN, "listen", BUILD, LAYER_NET, "cannot listen inside for '{purpose}'",
	     FIELDS(STRING(listen, address, " "), NUMBER(listen, port, ":"),
		    STRING(listen, purpose, " for "))),
	STEP(RLIMIT, "rlimit", CONFINE, 0, "cannot set the limit '{name}'",
	     FIELDS(STRING(rlimit, name, " "), NUMBER(rlimit, resource, NULL),
		    NUMBER(rlimit, limit, " "))),
	STEP(IDENTITY, "identity", CONFINE, 0, "cannot switch to the command's user",
	     FIELDS(IDS(identity))),
	STEP(CAPABILITIES, "capabilities", CONFINE, LAYER_CAPABILITIES,
	     "cannot drop all capabilities"),
	STEP(NO_NEW_PRIVILEGES, "no-new-privileges", CONFINE, LAYER_CAPABILITIES,
	     "cannot set no_new_privs"),
	STEP(LANDLOCK, "landlock", CONFINE, LAYER_LANDLOCK, "cannot create a Landlock ruleset",
	     FIELDS(BITS(landlock, file_rights, names_of_accesses, names_of_accesses),
		    BITS(landlock, port_rights, port_accesses, any_port),
		    BITS(landlock, scopes, scopes, any_scope))),
	STEP(LANDLOCK_PATH, "landlock-path", CONFINE, LAYER_LANDLOCK,
	     "cannot add a Landlock rule for '{target}'",
	     FIELDS(TARGET(landlock_path),
		    BITS(landlock_path, rights, names_of_accesses, short_accesses))),
	STEP(LANDLOCK_STREAMS, "landlock-streams", CONFINE, LAYER_LANDLOCK,
	     "cannot add a Landlock rule for stdin, stdout or stderr",
	     FIELDS(BITS(landlock_streams, rights, names_of_accesses, short_accesses))),
	STEP(LANDLOCK_PORT, "landlock-port", CONFINE, LAYER_LANDLOCK,
	     "cannot add a Landlock rule for a port",
	     FIELDS(NUMBER(landlock_port, port, " "),
		    BITS(landlock_port, rights, port_accesses, port_accesses))),
	STEP(LANDLOCK_ENFORCE, "landlock-enforce", CONFINE, LAYER_LANDLOCK,
	     "cannot enforce the Landlock ruleset"),
	STEP(TERMINAL, "terminal", CONFINE, 0, "cannot create a pseudoterminal"),
	STEP(WORKING_DIRECTORY, "working-directory", COMMAND, 0,
	     "cannot start the command in '{target}'", FIELDS(TARGET(working_directory))),
	STEP(SECCOMP, "seccomp", COMMAND, LAYER_SECCOMP,
	     "cannot load the system call filter '{profile}'",
	     FIELDS(STRING(seccomp, profile, " "), BITS(seccomp, variants, variants, variants)),
	     .tell = tell_denied),
	STEP(EXEC, "exec", COMMAND, 0, "cannot execute the command", .tell = tell_command),
};

const struct step_row *step_row(enum step_kind kind)
{
	return &rows[kind];
}

/* Steps that add to the file tree are ordered by their targets, so they count as one kind. */
static enum step_kind rank(enum step_kind kind)
{
	return kind > STEP_BIND && kind <= STEP_PTS ? STEP_BIND : kind;
}

size_t steps_find_disorder(const struct step *steps, size_t n_steps)
{
	for (size_t i = 0; i < n_steps; i++)
		if (steps[i].kind >= N_STEP_KINDS ||
		    (i > 0 && rank(steps[i].kind) < rank(steps[i - 1].kind)))
			return i;
	return n_steps;
}

const char *step_target(const struct step *step)
{
	const struct step_field *first = rows[step->kind].fields;

	return first && first->type == FIELD_TARGET ? step_field_string(step, first) : NULL;
}

void step_set_target(struct step *step, const char *target)
{
	*(const char **)((char *)step + rows[step->kind].fields->offset) = target;
}

static bool is_string(const struct step_field *field)
{
	return field->type == FIELD_TARGET || field->type == FIELD_SOURCE ||
	       field->type == FIELD_STRING;
}

const char *step_string(const struct step *step, const char *name, size_t n)
{
	const struct step_field *field = rows[step->kind].fields;

	for (; field && field->name; field++)
		if (is_string(field) && strncmp(field->name, name, n) == 0 &&
		    field->name[n] == '\0')
			return step_field_string(step, field);
	return NULL;
}

const char *step_field_string(const struct step *step, const struct step_field *field)
{
	return *(const char *const *)((const char *)step + field->offset);
}

uint64_t step_field_number(const struct step *step, const struct step_field *field)
{
	const void *at = (const char *)step + field->offset;

	switch (field->size) {
	case sizeof(bool):
		return *(const bool *)at;
	case sizeof(uint16_t):
		return *(const uint16_t *)at;
	case sizeof(uint32_t):
		return *(const uint32_t *)at;
	default:
		return *(const uint64_t *)at;
	}
}

const struct step_owner *step_field_owner(const struct step *step, const struct step_field *field)
{
	return (const struct step_owner *)((const char *)step + field->offset);
}
