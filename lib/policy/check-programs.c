/* SPDX-License-Identifier: MIT */

/*
 * Programs that may be executed and not be read
 *
 * execve() opens the program for reading, and Landlock wants both rights for that: where only exec
 * is allowed it fails with EACCES. It is only warned of where no rule, mount or view of the dialect
 * can make the path readable, whatever the project's root and the host's links in / are.
 *
 * What may be read is a sorted list of paths, "/usr" or "./src"; what is below a path follows it.
 */

#include "policy/check-internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "policy/enforcement.h"
#include "policy/glob.h"

/* May be links to what has the same name in /usr. */
static const char *const linked_folders[] = { "bin", "sbin", "lib", "lib32", "lib64", "libx32" };

/* The path of a value that is one. */
static void add_path(struct text *out, const struct match_value *value)
{
	struct glob glob;

	if (glob_parse(value->text, value->literal, &glob, NULL) < 0)
		return;
	text_add(out, glob.absolute ? "" : ".");
	for (size_t i = 0; glob.absolute && i < N_ELEMENTS(linked_folders); i++)
		if (glob.n_components > 0 && strlen(linked_folders[i]) == glob.components[0].len &&
		    strncmp(linked_folders[i], glob.components[0].text, glob.components[0].len) ==
			    0)
			text_add(out, "/usr");
	for (size_t i = 0; i < glob.n_components; i++) {
		text_add_char(out, '/');
		text_add_bytes(out, glob.components[i].text, glob.components[i].len);
	}
}

/* A project's root does not lie in there, so that a path below the project is another one. */
static bool is_of_system(const char *path)
{
	return strncmp(path, "/usr/", 5) == 0 || strcmp(path, "/usr") == 0 ||
	       strncmp(path, "/etc/", 5) == 0 || strcmp(path, "/etc") == 0;
}

static bool excludes(const struct match_value *value)
{
	return !value->literal && value->text[0] == '!';
}

/* ---- what may be read ---- */

static int add_reader(struct check_readers *readers, const struct match_value *value)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	char *copy;

	add_path(&path, value);
	if (text_status(&path) < 0)
		return -ENOMEM;
	if (path.len == 0) {
		readers->has_all = true;
		return 0;
	}
	readers->has_relative |= text_string(&path)[0] == '.';
	readers->has_outside |= text_string(&path)[0] == '/' && !is_of_system(text_string(&path));
	copy = strdup(text_string(&path));
	if (!copy)
		return -ENOMEM;
	readers->paths[readers->n_paths++] = copy;
	return 0;
}

static bool is_reader(const struct rule *rule)
{
	return rule->action != POLICY_DENY && rule->action != POLICY_PASS &&
	       (rule->match.operations & operation_set("fs.read"));
}

static int add_readers(struct check_readers *readers, const struct rule *rule)
{
	const struct match_list *list = &rule->match.lists[MATCH_PATH];
	int r = 0;

	readers->has_all |= !list->present;
	for (size_t i = 0; i < list->n_values && r == 0; i++) {
		const struct match_value *value = &list->values[i];

		if (excludes(value))
			continue;
		if (value_is_path(value, operation_set("fs.read")))
			r = add_reader(readers, value);
		else
			readers->has_all = true;
	}
	return r;
}

static const struct setting *mount_at(const struct policy *policy, size_t i)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "mounts[%zu].target", i);
	return policy_get_setting(policy, path);
}

/* Component by component, so that what is below a path follows it. */
static int compare(const char *a, const char *b)
{
	while (*a == *b && *a != '\0') {
		a++;
		b++;
	}
	if (*a == '\0' || *b == '\0')
		return (*a != '\0') - (*b != '\0');
	if (*a == '/' || *b == '/')
		return *a == '/' ? -1 : 1;
	return (unsigned char)*a - (unsigned char)*b;
}

static int compare_rows(const void *a, const void *b)
{
	return compare(*(char *const *)a, *(char *const *)b);
}

/* Is anything readable that no rule names, or is Landlock left out? */
static bool is_readable_anyway(const struct policy *policy)
{
	const struct setting *nested = policy_get_setting(policy, "isolation.nested");

	return policy->dialect == DIALECT_BUNTIME || policy->defaults[CLASS_FS] != POLICY_DENY ||
	       (nested && nested->number);
}

int check_readers_make(const struct policy *policy, struct check_readers *ret)
{
	const struct setting *mount;
	size_t n_max = 1;
	int r = 0;

	*ret = (struct check_readers){ .has_all = is_readable_anyway(policy) };
	for (size_t i = 0; i < policy->n_rules; i++)
		if (is_reader(&policy->rules[i]))
			n_max += policy->rules[i].match.lists[MATCH_PATH].n_values;
	for (size_t i = 0; mount_at(policy, i); i++)
		n_max++;
	ret->paths = calloc(n_max, sizeof(*ret->paths));
	if (!ret->paths)
		return -ENOMEM;
	for (size_t i = 0; i < policy->n_rules && r == 0 && !ret->has_all; i++)
		if (is_reader(&policy->rules[i]))
			r = add_readers(ret, &policy->rules[i]);
	for (size_t i = 0; (mount = mount_at(policy, i)) && r == 0; i++)
		r = add_reader(ret, &(struct match_value){ .text = mount->text, .literal = true });
	if (r < 0)
		check_readers_deinit(ret);
	else
		qsort(ret->paths, ret->n_paths, sizeof(*ret->paths), compare_rows);
	return r;
}

void check_readers_deinit(struct check_readers *readers)
{
	for (size_t i = 0; i < readers->n_paths; i++)
		free(readers->paths[i]);
	free(readers->paths);
	*readers = (struct check_readers){ .n_paths = 0 };
}

/* ---- programs ---- */

/* The first path that does not come before @path. */
static size_t find(const struct check_readers *readers, const char *path)
{
	size_t low = 0, high = readers->n_paths;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(readers->paths[middle], path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_below_or_at(const char *path, const char *above)
{
	size_t len = strlen(above);

	return strncmp(path, above, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* @path is cut. */
static bool has_above(const struct check_readers *readers, char *path)
{
	char *slash;

	while ((slash = strrchr(path, '/'))) {
		size_t at;

		*slash = '\0';
		at = find(readers, path);
		if (at < readers->n_paths && strcmp(readers->paths[at], path) == 0)
			return true;
	}
	return false;
}

static bool may_be_read(const struct check_readers *readers, const struct match_value *program)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	_cleanup_free_ char *path = NULL;
	size_t at;

	add_path(&text, program);
	path = text_status(&text) < 0 ? NULL : strdup(text_string(&text));
	if (!path || path[0] == '\0')
		return true;
	if (path[0] == '.' ? readers->has_outside : !is_of_system(path) && readers->has_relative)
		return true;
	at = find(readers, path);
	return (at < readers->n_paths && is_below_or_at(readers->paths[at], path)) ||
	       has_above(readers, path);
}

void check_programs(struct checker *checker, const struct rule *rule)
{
	const struct match_list *paths = &rule->match.lists[MATCH_PATH];

	if (rule->action != POLICY_ALLOW || !(rule->match.operations & operation_set("exec")) ||
	    checker->readers.has_all ||
	    rule_file_enforcement(checker->policy, rule).state != ENFORCEMENT_HELD)
		return;
	for (size_t i = 0; i < paths->n_values; i++) {
		const struct match_value *program = &paths->values[i];

		if (excludes(program) || may_be_read(&checker->readers, program))
			continue;
		check_warn(checker, CHECK_UNREADABLE, program->place,
			   "'%s' may be executed and not be read", program->text);
		sbx_error_why(&checker->warning.error,
			      "the kernel reads a program that it executes, and Landlock refuses "
			      "that where no rule allows fs.read");
		sbx_error_fix(&checker->warning.error,
			      "allow fs.read of '%s', too: syscall: [exec, fs.read]",
			      program->text);
	}
}
