/* SPDX-License-Identifier: MIT */

/*
 * Writes a decision tree over system call numbers as BPF
 *
 * BPF jumps only forward, so the program is written from its end to its beginning: the target of a
 * jump already exists. Places count from the end; the length of a jump is the difference of two
 * places. Verdicts and conditions within reach are shared.
 *
 * The tree is balanced by the number of system calls on each side, not by the number of ranges:
 * when a filter is loaded, the kernel emulates it for each number to build its bitmap of always
 * allowed calls (5.11), which is most of the cost of loading.
 */

#include "filter/layout.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "filter/profile.h"

/* The field of a jump is one byte; one less leaves room for a BPF_JA. */
#define REACH 254
/* The kernel's bitmap covers about this many numbers (NR_syscalls). */
#define WALKED 470

struct program {
	struct sock_filter *code; /* in reverse order */
	size_t n;
	bool is_full;
	const struct layout_chain **chains; /* chains that were written already, */
	size_t *places;			    /* and their places */
	size_t n_chains;
};

/* Writes an instruction before those that exist; returns its place. */
static size_t put(struct program *p, uint16_t code, uint8_t yes, uint8_t no, uint32_t k)
{
	if (p->n == BPF_MAXINSNS) {
		p->is_full = true;
		return p->n - 1;
	}
	p->code[p->n] = (struct sock_filter){ .code = code, .jt = yes, .jf = no, .k = k };
	return p->n++;
}

static bool is_near(const struct program *p, size_t place)
{
	return p->n - place <= REACH;
}

/* Shares an equal verdict within reach, or writes one. */
static size_t put_answer(struct program *p, uint32_t answer)
{
	for (size_t i = p->n; i > 0 && is_near(p, i - 1); i--)
		if (p->code[i - 1].code == (BPF_RET | BPF_K) && p->code[i - 1].k == answer)
			return i - 1;
	return put(p, BPF_RET | BPF_K, 0, 0, answer);
}

/* Returns @place if it is the next instruction, or writes a BPF_JA to it. */
static size_t put_next_to(struct program *p, size_t place)
{
	if (place + 1 == p->n)
		return place;
	return put(p, BPF_JMP | BPF_JA, 0, 0, (uint32_t)(p->n - place - 1));
}

/* Returns @place if a conditional jump reaches it, or a copy of its verdict or a BPF_JA that is in
 * reach. */
static size_t bring_near(struct program *p, size_t place)
{
	if (is_near(p, place))
		return place;
	if (p->code[place].code == (BPF_RET | BPF_K))
		return put_answer(p, p->code[place].k);
	return put_next_to(p, place);
}

static size_t put_jump(struct program *p, uint16_t test, uint32_t k, size_t yes, size_t no)
{
	if (yes == no)
		return yes;
	yes = bring_near(p, yes);
	no = bring_near(p, no);
	return put(p, BPF_JMP | BPF_K | test, (uint8_t)(p->n - yes - 1), (uint8_t)(p->n - no - 1),
		   k);
}

static uint32_t low_half_of(unsigned argument)
{
	size_t at = offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t);

	return (uint32_t)(at + (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : sizeof(uint32_t)));
}

static size_t put_range(struct program *p, const struct filter_condition *c, size_t yes, size_t no)
{
	if (c->from == c->to)
		return put_jump(p, BPF_JEQ, c->from, yes, no);
	if (c->to != UINT32_MAX)
		yes = put_jump(p, BPF_JGT, c->to, no, yes);
	return c->from == 0 ? yes : put_jump(p, BPF_JGE, c->from, yes, no);
}

/* Compares the loaded value. */
static size_t put_comparison(struct program *p, const struct filter_condition *c, size_t yes,
			     size_t no)
{
	return c->is_not ? put_range(p, c, no, yes) : put_range(p, c, yes, no);
}

static size_t put_load(struct program *p, const struct filter_condition *c, size_t then)
{
	(void)put_next_to(p, then);
	if (c->mask != UINT32_MAX)
		(void)put(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, c->mask);
	return put(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, low_half_of(c->argument));
}

static size_t n_conditions(const struct filter_rule *rule)
{
	size_t n = 0;

	while (n < FILTER_CONDITIONS_MAX && rule->when[n].mask != 0)
		n++;
	return n;
}

/* True if the rule before has loaded the value that the i-th rule compares first. */
static bool is_loaded(const struct layout_chain *chain, size_t i)
{
	const struct filter_condition *before, *now = &chain->rules[i]->when[0];

	if (i == 0 || n_conditions(chain->rules[i - 1]) != 1)
		return false;
	before = &chain->rules[i - 1]->when[0];
	return before->argument == now->argument && before->mask == now->mask;
}

static size_t put_rule(struct program *p, const struct layout_chain *chain, size_t i, size_t next)
{
	const struct filter_rule *rule = chain->rules[i];
	size_t place = put_answer(p, rule->answer);

	for (size_t k = n_conditions(rule); k > 0; k--) {
		place = put_comparison(p, &rule->when[k - 1], place, next);
		if (k > 1 || !is_loaded(chain, i))
			place = put_load(p, &rule->when[k - 1], place);
	}
	return place;
}

static size_t put_chain(struct program *p, const struct layout_chain *chain)
{
	size_t place;

	for (size_t i = 0; i < p->n_chains; i++)
		if (p->chains[i] == chain)
			return p->places[i];
	place = put_answer(p, chain->otherwise);
	if (chain->n_rules == 0)
		return place;
	for (size_t i = chain->n_rules; i > 0; i--)
		place = put_rule(p, chain, i - 1, place);
	p->chains[p->n_chains] = chain;
	p->places[p->n_chains++] = place;
	return place;
}

/* How many of the kernel's emulated calls are in this range. */
static uint32_t weight_of(const struct layout_range *range)
{
	uint32_t end = range[1].first < WALKED ? range[1].first : WALKED;

	return range[0].first < end ? end - range[0].first : 1;
}

/* The range at which to split, so that both sides have about the same weight. */
static size_t middle_of(const struct layout_range *ranges, size_t n)
{
	uint32_t whole = 0, left = 0, least = UINT32_MAX;
	size_t middle = 1;

	for (size_t i = 0; i < n; i++)
		whole += weight_of(&ranges[i]);
	for (size_t i = 1; i < n; i++) {
		uint32_t difference;

		left += weight_of(&ranges[i - 1]);
		difference = 2 * left > whole ? 2 * left - whole : whole - 2 * left;
		if (difference >= least)
			continue;
		least = difference;
		middle = i;
	}
	return middle;
}

/* One number that differs between two ranges with the same chain: one BPF_JEQ is enough. */
static bool is_exception(const struct layout_range *ranges, size_t n)
{
	return n == 3 && ranges[0].chain == ranges[2].chain &&
	       ranges[2].first - ranges[1].first == 1;
}

static size_t put_tree(struct program *p, const struct layout_range *ranges, size_t n)
{
	size_t middle, right, left;
	bool is_one;

	if (n == 1)
		return put_chain(p, ranges[0].chain);
	is_one = is_exception(ranges, n);
	middle = is_one ? 1 : middle_of(ranges, n);
	right = put_tree(p, ranges + middle, is_one ? 1 : n - middle);
	left = put_tree(p, ranges, middle);
	return put_jump(p, is_one ? BPF_JEQ : BPF_JGE, ranges[middle].first, right, left);
}

static void put_all(struct program *p, uint32_t architecture, const struct layout_range *ranges,
		    size_t n_ranges)
{
	size_t tree, kill;

	(void)put_next_to(p, put_tree(p, ranges, n_ranges));
	tree = put(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	kill = put_answer(p, SECCOMP_RET_KILL_PROCESS);
	(void)put_jump(p, BPF_JEQ, architecture, tree, kill);
	(void)put(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
}

int layout_build(uint32_t architecture, const struct layout_range *ranges, size_t n_ranges,
		 struct sock_filter **ret, size_t *ret_n)
{
	_cleanup_free_ struct sock_filter *code = calloc(BPF_MAXINSNS, sizeof(*code));
	_cleanup_free_ const struct layout_chain **chains = calloc(n_ranges, sizeof(*chains));
	_cleanup_free_ size_t *places = calloc(n_ranges, sizeof(*places));
	struct program p = { .code = code, .chains = chains, .places = places };
	struct sock_filter *forwards;

	if (!code || !chains || !places)
		return -ENOMEM;
	put_all(&p, architecture, ranges, n_ranges);
	if (p.is_full)
		return -E2BIG;
	forwards = calloc(p.n, sizeof(*forwards));
	if (!forwards)
		return -ENOMEM;
	for (size_t i = 0; i < p.n; i++)
		forwards[i] = code[p.n - 1 - i];
	*ret = forwards;
	*ret_n = p.n;
	return 0;
}
