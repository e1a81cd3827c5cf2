/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The compiled policy: one position-independent block that can be mapped and used directly
 *
 * A header, then sections, each an array of fixed-size rows aligned to 8; offsets count from the
 * start of the block. Integers are in host byte order (the magic number shows which). The same
 * model gives the same bytes. artefact_open() checks the checksum and every index, offset, count
 * and chain of the block before anything reads it: it refuses a hostile file, and the evaluator
 * needs no checks.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_error;

#define ARTEFACT_MAGIC 0x3150786273000a1aull
#define ARTEFACT_VERSION 5u
#define ARTEFACT_NONE UINT32_MAX
/* Maximum distance of a key from its slot in a hash table, which bounds every look-up. */
#define ARTEFACT_PROBES_MAX 32u

struct artefact_span {
	uint32_t first; /* row of the section that the span refers to */
	uint32_t count;
};

enum artefact_section {
	SECTION_BYTES,	 /* char: all texts, each followed by NUL; a text is its offset in here */
	SECTION_SOURCES, /* struct artefact_source */
	SECTION_RULES,	 /* struct artefact_rule, in the order of the files */
	SECTION_CONDITIONS, /* struct artefact_condition: of each rule the match, then the
			       exceptions */
	SECTION_LISTS,	    /* struct artefact_lists: the non-primary keys of some conditions */
	SECTION_TEXTS,	    /* u32 rows of SECTION_WORDS: the values of caller, tag, state and mode
			       lists, each list ascending */
	SECTION_VALUES,	    /* struct artefact_value: hosts, prefixes and ports of non-primary keys,
			       which are compared one by one */
	SECTION_POSTINGS,   /* u32: condition << 2 | POSTING_ bits; index entries and nodes refer to
			       these */
	SECTION_NODES, /* struct artefact_node: the trie over path components; row 0 is the absolute
			  root, 1 the project root; all others are in the tables of their parents */
	SECTION_FORKS, /* struct artefact_fork: wildcard children and several postings */
	SECTION_PATTERNS, /* struct artefact_pattern: components with wildcards, in a chain that
			     starts at their node's fork */
	SECTION_WORDS, /* struct artefact_word: open-addressed table of interned texts; the size is
			  a power of two */
	SECTION_INDEX, /* struct artefact_entry: open-addressed table of hosts, address prefixes and
			  ports */
	SECTION_PLAIN, /* u32: conditions without an indexed key, in one span per operation */
	SECTION_ADDRESSED, /* u32: conditions whose primary key is a cidr with values, ascending */
	N_SECTIONS,
};

#define POSTING_EXCLUDES 1u  /* a '!' glob: overrides the list's other globs */
#define POSTING_ONLY_EXEC 2u /* a bare name: any directory, but only for exec */

/* Hash tables; each has its own seed, which keeps probes short. TABLE_NODES stands for all nodes'
 * tables. */
enum artefact_table {
	TABLE_WORDS,
	TABLE_NODES,
	TABLE_INDEX,
	N_TABLES,
};

enum artefact_lengths {
	LENGTHS_IPV4,
	LENGTHS_IPV6, /* three words: 129 lengths */
	LENGTHS_PORT = LENGTHS_IPV6 + 3,
	N_LENGTHS,
};

struct artefact_header {
	uint64_t magic;
	uint32_t version;
	uint32_t n_bytes;	   /* of the whole block */
	uint8_t checksum[32];	   /* SHA-256 of everything after this field */
	uint8_t policy_digest[32]; /* of the sources; decisions and tokens are bound to it */
	uint64_t seeds[N_TABLES];
	uint64_t needs_project;		    /* operations with a glob below the project's root */
	uint64_t needs_port;		    /* operations with a rule about ports */
	uint64_t needs_address;		    /* operations with a rule about addresses */
	uint32_t defaults[4];		    /* enum policy_action for each operation class */
	uint32_t special_needs_cidr;	    /* 1: as in struct policy */
	uint32_t reserved;		    /* 0 */
	uint64_t prefix_lengths[N_LENGTHS]; /* bit sets of the prefix lengths that occur */
	struct artefact_span sections[N_SECTIONS]; /* byte offset and number of rows */
	struct artefact_span plain_of_operation[64];
};

struct artefact_source {
	uint32_t name;
	uint32_t narrows;
	uint8_t digest[32];
};

struct artefact_rule {
	uint32_t name;
	uint32_t reason; /* text or NONE */
	uint32_t source;
	uint32_t line;
	uint32_t column;
	uint16_t action;
	uint16_t kind;			 /* enum rule_kind */
	uint32_t condition;		 /* row of the match */
	struct artefact_span exceptions; /* conditions; those without an indexed key come first */
	uint32_t n_plain_exceptions; /* number of those; the others are found by their index, like
					matches */
	uint32_t require_sandbox;    /* text or NONE */
	uint32_t require_token;
	uint32_t sha256; /* text of 64 hex digits or NONE */
	uint32_t tls;	 /* enum tls_demand */
	uint64_t max_file_size_bytes;
};

struct artefact_condition {
	uint64_t operations;
	uint32_t rule;
	uint32_t ordinal;    /* an exception's number in its rule, from 0; NONE: the match */
	uint32_t lists;	     /* row of SECTION_LISTS; NONE: no key needs one */
	uint16_t keys;	     /* bit set of the enum match_key that are present */
	uint8_t primary;     /* the key whose index finds this condition; PRIMARY_NONE: found by
				SECTION_PLAIN, or an exception without index */
	uint8_t protos;	     /* PROTO_ bits */
	uint8_t action;	     /* copy of its rule's, so that few decisions read the rule */
	uint8_t flags;	     /* CONDITION_ bits */
	uint8_t reserved[6]; /* must be 0 */
};

#define PRIMARY_NONE UINT8_MAX
#define PROTO_TCP 1u
#define PROTO_UDP 2u
#define PORT_BITS 16

#define CONDITION_NARROWS 1u  /* its source narrows */
#define CONDITION_BOUND 2u    /* its rule has a constraint */
#define CONDITION_EXCEPTED 4u /* its rule has exceptions */

struct artefact_lists {
	struct artefact_span texts[4];	/* caller, tag, state, mode: in SECTION_TEXTS */
	struct artefact_span values[3]; /* host, cidr, port, unless they are the primary key */
};

/*
 * Two rows fill a cache line, and a walk down the trie reads one row per component: a node is
 * stored in its parent's table, with the key by which it is found and usually all of its postings.
 */
struct artefact_node {
	uint64_t key;	   /* node_key() of its component; 0: an empty slot, or a root */
	uint64_t words;	   /* bit set of node_bit() of its children; 0: no table */
	uint32_t text;	   /* the component */
	uint32_t children; /* first row of its table of 1 << table_bits rows: a child is in one of
			      its two slots */
	uint32_t ends;	   /* meaning depends on kind */
	uint16_t len;	   /* of the component */
	uint8_t kind;	   /* NODE_ bits */
	uint8_t table_bits;
};

#define NODE_HERE 1u  /* ends is the posting of the glob that ends at this node */
#define NODE_BELOW 2u /* ends is the posting of the glob that matches everything below it */
#define NODE_FORK 4u  /* ends is a row of SECTION_FORKS; excludes the two above */
#define NODE_WILD 8u  /* only with NODE_FORK: the fork has a star or patterns */

struct artefact_fork {
	uint32_t star;		    /* child for "*", or NONE */
	uint32_t floating;	    /* child for "**", or NONE; it stays live once entered */
	uint32_t pattern;	    /* first pattern, or NONE */
	uint32_t reserved;	    /* must be 0 */
	struct artefact_span here;  /* postings of globs that end at the node */
	struct artefact_span below; /* postings of globs that match everything below the node */
};

struct artefact_pattern {
	uint32_t text;
	uint32_t len;
	uint32_t to;
	uint32_t next; /* NONE ends the chain; otherwise a greater row, so that every chain ends */
	uint32_t suffix; /* 1: "*" and then only literal bytes, so only the end is compared */
	uint32_t reserved;
};

struct artefact_word {
	uint32_t text; /* NONE: an empty slot */
	uint32_t len;
	uint64_t head; /* hash_head(): the whole text, if it has at most 8 bytes */
};

/* The kind is part of the key, so that a port cannot match an address. */
enum artefact_entry_kind {
	ENTRY_EMPTY,
	ENTRY_HOST,	  /* bits: row in SECTION_WORDS of the whole lower-case name */
	ENTRY_HOST_BELOW, /* "*.name": row of name; of the empty word: any host */
	ENTRY_IPV4,	  /* bits: the prefix, most significant bits first; with its length */
	ENTRY_IPV6,
	ENTRY_PORT, /* 16-bit prefixes: a range consists of at most 30 */
	N_ENTRY_KINDS,
};

struct artefact_value {
	uint32_t kind;
	uint32_t length;
	uint64_t bits[2]; /* as in the index; for ENTRY_PORT the first and the last port */
};

/* The bits of an address of 4 or 16 bytes, in the index's form. */
void artefact_address_bits(const uint8_t *bytes, size_t n_bytes, uint64_t ret[2]);
/* Does the address, of the prefix's kind, begin with the prefix? */
bool artefact_prefix_holds(const struct artefact_value *prefix, const uint64_t bits[2]);

struct artefact_entry {
	struct artefact_value key; /* kind ENTRY_EMPTY: an empty slot */
	struct artefact_span postings;
};

struct artefact {
	const uint8_t *block;
	const struct artefact_header *header;
};

/* Does a compiled policy begin here, rather than a text? */
bool artefact_has_magic(const void *bytes, size_t n_bytes);
/*
 * Checks the block completely; it must be aligned to 8. The artefact borrows it. -EBADMSG with the
 * first problem, or -ENOMEM; linear in the size.
 */
int artefact_open(const void *block, size_t n_bytes, struct artefact *ret, struct sbx_error *err);

/* The rows of a section of a checked block; the caller casts them to the section's type. */
const void *artefact_rows(const struct artefact *artefact, enum artefact_section section);
size_t artefact_n_rows(const struct artefact *artefact, enum artefact_section section);
size_t artefact_row_size(enum artefact_section section);
const char *artefact_text(const struct artefact *artefact, uint32_t text);
const struct artefact_rule *artefact_rule_at(const struct artefact *artefact, uint32_t row);
/* The name of the rule's file. */
const char *artefact_file_of(const struct artefact *artefact, const struct artefact_rule *rule);
