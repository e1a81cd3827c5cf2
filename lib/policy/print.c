/* SPDX-License-Identifier: MIT */

/*
 * The canonical text of a policy, as YAML or as JSON
 *
 * A policy of any dialect is printed as capabilities and settings, always in the same order, so
 * that two policies with the same meaning have the same text. Maps and lists of maps are printed on
 * separate lines; lists of values on one. In YAML every text of the policy is in double quotes,
 * with escapes for characters that are invisible or reorder text, so that neither a parser nor a
 * reader can mistake it.
 */

#include "policy/model.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "policy/view.h"

#define INDENT 2

struct printer {
	struct text *out;
	bool json;
	struct json_writer writer; /* used if json */
	unsigned depth;
	bool dash;	     /* the next key begins an item of a list */
	bool inside, behind; /* inside a list of values; one of its values has been printed */
};

/* A name chosen by the user may need quotes. */
static void add_key(struct text *out, const char *key)
{
	const char *at = key;

	while (isalnum((unsigned char)*at) || *at == '_' || (*at == '-' && at > key))
		at++;
	if (*at == '\0' && !isdigit((unsigned char)key[0]))
		text_add(out, key);
	else
		text_add_quoted(out, key);
	text_add_char(out, ':');
}

static void add_indent(struct printer *printer)
{
	unsigned depth = printer->depth - 1;

	for (unsigned i = 0; i < depth * INDENT; i++)
		text_add_char(printer->out, ' ');
	if (printer->dash) {
		text_truncate(printer->out, printer->out->len - INDENT);
		text_add(printer->out, "- ");
	}
	printer->dash = false;
}

static void begin_line(struct printer *printer, const char *key)
{
	if (printer->json && key)
		json_add_name(&printer->writer, key);
	if (printer->json || !key)
		return;
	add_indent(printer);
	add_key(printer->out, key);
}

/* A list of values is on one line. */
enum shape {
	MAP,
	LIST,
	VALUES,
};

/* Neither a map nor a list of maps may be empty. @key is NULL at the top level and for items of a
 * list. */
static void print_begin(struct printer *printer, const char *key, enum shape shape)
{
	begin_line(printer, key);
	if (printer->json && shape == MAP)
		json_add_object(&printer->writer);
	else if (printer->json)
		json_add_array(&printer->writer);
	else if (key)
		text_add(printer->out, shape == VALUES ? " [" : "\n");
	if (shape == MAP)
		printer->dash = printer->depth > 0 && !key;
	printer->depth += shape != VALUES;
	printer->inside = shape == VALUES;
	printer->behind = false;
}

static void print_end(struct printer *printer, enum shape shape)
{
	if (printer->json && shape == MAP)
		json_end_object(&printer->writer);
	else if (printer->json)
		json_end_array(&printer->writer);
	else if (shape == VALUES)
		text_add(printer->out, "]\n");
	printer->depth -= shape != VALUES;
	printer->inside = false;
}

/* How a value is written: in quotes; a word that needs none in YAML; a number or a bool. */
enum form {
	QUOTED,
	WORD,
	PLAIN,
};

static void print_value(struct printer *printer, const char *key, const char *text, enum form form)
{
	begin_line(printer, key);
	if (printer->json && form == PLAIN)
		json_add_raw(&printer->writer, text, strlen(text));
	else if (printer->json)
		json_add_string(&printer->writer, text);
	if (printer->json)
		return;
	if (!printer->inside)
		text_add_char(printer->out, ' ');
	else if (printer->behind)
		text_add(printer->out, ", ");
	printer->behind = true;
	if (form == QUOTED)
		text_add_quoted(printer->out, text);
	else
		text_add(printer->out, text);
	if (!printer->inside)
		text_add_char(printer->out, '\n');
}

static void print_string(struct printer *printer, const char *key, const char *text)
{
	print_value(printer, key, text, QUOTED);
}

/* ---- settings: sorted by path, so that a section or a list is one run of rows ---- */

struct run {
	const struct setting *rows;
	size_t n_rows;
	size_t from; /* offset in the paths: the part before it is common and has been printed */
};

static void print_run(struct printer *printer, struct run run);

/* The number of leading rows that agree in the next @len characters and then end a step. */
static size_t count_alike(const struct run *run, size_t len)
{
	const char *first = run->rows[0].path + run->from;
	size_t n = 1;

	while (n < run->n_rows && strncmp(run->rows[n].path + run->from, first, len) == 0 &&
	       strchr(".[", run->rows[n].path[run->from + len]))
		n++;
	return n;
}

static void print_scalar(struct printer *printer, const char *key, const struct setting *setting)
{
	print_value(printer, key, setting->text, setting->type == TREE_STRING ? QUOTED : PLAIN);
}

/* @run begins with the list itself, followed by its items. */
static void print_items(struct printer *printer, const char *key, struct run run, size_t name_len)
{
	struct run items = { run.rows + 1, run.n_rows - 1, run.from + name_len };
	bool plain = items.n_rows == 0 || strchr(items.rows[0].path + items.from, '.') == NULL;

	if (plain) {
		print_begin(printer, key, VALUES);
		for (size_t i = 0; i < items.n_rows; i++)
			print_scalar(printer, NULL, &items.rows[i]);
		print_end(printer, VALUES);
		return;
	}
	print_begin(printer, key, LIST);
	while (items.n_rows > 0) {
		size_t step = strcspn(items.rows[0].path + items.from, ".");
		size_t n = count_alike(&items, step);

		print_begin(printer, NULL, MAP);
		print_run(printer, (struct run){ items.rows, n, items.from + step + 1 });
		print_end(printer, MAP);
		items.rows += n;
		items.n_rows -= n;
	}
	print_end(printer, LIST);
}

static void print_step(struct printer *printer, struct run run)
{
	const struct setting *first = &run.rows[0];
	const char *step = first->path + run.from;
	size_t len = strcspn(step, ".[");
	_cleanup_text_ struct text key = TEXT_INIT;

	text_add_bytes(&key, step, len);
	if (text_status(&key) < 0) {
		printer->out->failed = true;
		return;
	}
	if (step[len] == '\0' && first->type == TREE_LIST) {
		print_items(printer, text_string(&key), run, len);
	} else if (step[len] == '\0') {
		print_scalar(printer, text_string(&key), first);
	} else {
		print_begin(printer, text_string(&key), MAP);
		print_run(printer, (struct run){ run.rows, run.n_rows, run.from + len + 1 });
		print_end(printer, MAP);
	}
}

static void print_run(struct printer *printer, struct run run)
{
	while (run.n_rows > 0) {
		size_t n = count_alike(&run, strcspn(run.rows[0].path + run.from, ".["));

		print_step(printer, (struct run){ run.rows, n, run.from });
		run.rows += n;
		run.n_rows -= n;
	}
}

/* ---- rules ---- */

static void print_operations(struct printer *printer, uint64_t operations)
{
	print_begin(printer, "syscall", VALUES);
	if (operations == operation_set("*"))
		print_string(printer, NULL, "*");
	for (int row = 0; operations != operation_set("*") && operation_at(row); row++)
		if (operations >> row & 1)
			print_value(printer, NULL, operation_at(row)->name, WORD);
	print_end(printer, VALUES);
}

static void print_match_list(struct printer *printer, enum match_key key,
			     const struct match_list *list)
{
	bool is_glob = key == MATCH_PATH && !(list->n_values > 0 && list->values[0].literal);

	if (!list->present)
		return;
	print_begin(printer, is_glob ? "path_glob" : match_key_name(key), VALUES);
	for (size_t i = 0; i < list->n_values; i++)
		print_string(printer, NULL, list->values[i].text);
	print_end(printer, VALUES);
}

static void print_condition(struct printer *printer, const char *key,
			    const struct condition *condition)
{
	print_begin(printer, key, MAP);
	if (condition->operations != 0)
		print_operations(printer, condition->operations);
	for (int list = 0; list < N_MATCH_KEYS; list++)
		print_match_list(printer, (enum match_key)list, &condition->lists[list]);
	print_end(printer, MAP);
}

static void print_size(struct printer *printer, const char *key, uint64_t bytes)
{
	_cleanup_text_ struct text size = TEXT_INIT;

	units_add_size(&size, bytes);
	printer->out->failed |= size.failed;
	print_string(printer, key, text_string(&size));
}

static void print_constraints(struct printer *printer, const struct constraints *constraints)
{
	bool has_size = constraints->max_file_size_bytes != UINT64_MAX;

	if (!constraints->require_sandbox && !constraints->require_token && !has_size &&
	    !constraints->sha256 && constraints->tls == TLS_SNI)
		return;
	print_begin(printer, "constraints", MAP);
	if (constraints->require_sandbox)
		print_value(printer, "require_sandbox", constraints->require_sandbox, WORD);
	if (constraints->require_token)
		print_value(printer, "require_capability_token", "true", PLAIN);
	if (has_size)
		print_size(printer, "max_file_size", constraints->max_file_size_bytes);
	if (constraints->sha256)
		print_string(printer, "sha256", constraints->sha256);
	if (constraints->tls == TLS_ANY)
		print_value(printer, "tls", "any", WORD);
	print_end(printer, MAP);
}

static void print_examples(struct printer *printer, const struct rule *rule)
{
	static const char *const keys[] = { "match", "not_match" };

	if (rule->n_examples == 0)
		return;
	print_begin(printer, "examples", MAP);
	for (int side = 0; side < 2; side++) {
		size_t n = 0;

		for (size_t i = 0; i < rule->n_examples; i++)
			n += rule->examples[i].matches == (side == 0);
		if (n == 0)
			continue;
		print_begin(printer, keys[side], VALUES);
		for (size_t i = 0; i < rule->n_examples; i++)
			if (rule->examples[i].matches == (side == 0))
				print_string(printer, NULL, rule->examples[i].text);
		print_end(printer, VALUES);
	}
	print_end(printer, MAP);
}

/* Two files of a layered policy may use the same name; in one file the second one gets a number. */
static void print_name(struct printer *printer, const struct policy *policy, size_t i)
{
	_cleanup_text_ struct text name = TEXT_INIT;
	unsigned n_before = 0;

	for (size_t k = 0; policy->n_sources > 1 && k < i; k++)
		n_before += strcmp(policy->rules[k].name, policy->rules[i].name) == 0;
	text_add(&name, policy->rules[i].name);
	if (n_before > 0)
		text_addf(&name, " (%u)", n_before + 1);
	printer->out->failed |= name.failed;
	print_string(printer, "name", text_string(&name));
}

static void print_rule(struct printer *printer, const struct policy *policy, size_t i)
{
	const struct rule *rule = &policy->rules[i];

	print_begin(printer, NULL, MAP);
	print_name(printer, policy, i);
	print_condition(printer, "match", &rule->match);
	print_value(printer, "action", policy_action_name(rule->action), WORD);
	if (rule->n_exceptions > 0) {
		print_begin(printer, "except", LIST);
		for (size_t k = 0; k < rule->n_exceptions; k++)
			print_condition(printer, NULL, &rule->exceptions[k]);
		print_end(printer, LIST);
	}
	print_constraints(printer, &rule->constraints);
	if (rule->reason)
		print_string(printer, "reason", rule->reason);
	print_examples(printer, rule);
	print_end(printer, MAP);
}

static void print_extensions(struct printer *printer, const struct policy *policy)
{
	if (policy->n_extensions == 0)
		return;
	print_begin(printer, "extensions", LIST);
	for (size_t i = 0; i < policy->n_extensions; i++) {
		print_begin(printer, NULL, MAP);
		print_string(printer, "name", policy->extensions[i].name);
		print_begin(printer, "command", VALUES);
		for (const char *const *word = policy->extensions[i].argv; *word; word++)
			print_string(printer, NULL, *word);
		print_end(printer, VALUES);
		print_end(printer, MAP);
	}
	print_end(printer, LIST);
}

/* One file cannot express "allow this only if another file does". */
const struct rule *policy_find_unprintable(const struct policy *policy)
{
	for (size_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];

		if (policy->sources[rule->place.source].narrows && policy_permits(rule->action))
			return rule;
	}
	return NULL;
}

/* A text with "capabilities" has no implicit view; one with nothing but "defaults" has. */
static void print_view(struct printer *printer, const struct policy *policy)
{
	const char *name = view_name(policy);

	if (strcmp(name, "none") != 0 || policy->n_rules == 0)
		print_value(printer, "view", name, WORD);
}

static int print_policy(struct printer *printer, const struct policy *policy)
{
	if (policy_find_unprintable(policy))
		return -EOPNOTSUPP;
	print_begin(printer, NULL, MAP);
	print_value(printer, "version", "1", PLAIN);
	print_view(printer, policy);
	print_begin(printer, "defaults", MAP);
	for (int i = 0; i < N_CLASSES; i++)
		print_value(printer, operation_class_name((enum operation_class)i),
			    policy_action_name(policy->defaults[i]), WORD);
	print_end(printer, MAP);
	if (policy->n_rules > 0) {
		print_begin(printer, "capabilities", LIST);
		for (size_t i = 0; i < policy->n_rules; i++)
			print_rule(printer, policy, i);
		print_end(printer, LIST);
	}
	print_extensions(printer, policy);
	print_run(printer, (struct run){ policy->settings, policy->n_settings, 0 });
	print_end(printer, MAP);
	return text_status(printer->out);
}

int policy_print(const struct policy *policy, struct text *out)
{
	struct printer printer = { .out = out };

	return print_policy(&printer, policy);
}

int policy_print_json(const struct policy *policy, struct text *out)
{
	struct printer printer = { .out = out, .json = true };
	int r;

	json_write(&printer.writer, out);
	r = print_policy(&printer, policy);
	if (r < 0)
		return r;
	text_add_char(out, '\n');
	return text_status(out);
}
