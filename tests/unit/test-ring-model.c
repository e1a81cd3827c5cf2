/* SPDX-License-Identifier: MIT */

/*
 * The protocol by which the two sides of a channel publish, look, sleep and wake each other, as a
 * model: all its states are visited
 *
 * It models shared_wait(), say_sleeping(), wake_other() and the functions that publish a tail, a
 * stamp or a head (lib/ring/shared.c); each fragment below names its function. One direction with
 * room for two records is enough: the consumer sleeps for data and the producer for room, once as
 * the server and once as the client.
 *
 * Memory is that of x86 (TSO): a store goes into the FIFO store buffer of its process, a load reads
 * the own buffer first, a buffer drains at any time, a fence waits until the own one is empty. The
 * futex calls have a full barrier, as in the kernel; nothing is assumed of the other calls.
 *
 * A state in which both sides have finished or sleep, with an unfinished one, is a lost wake-up.
 * The client's time-out does not count as waking: it only leads to the second stage of its sleep. A
 * record that the consumer reads must be the next one of the producer.
 *
 * Then each fence, each second look and each order is removed, one at a time, and the search must
 * find what goes wrong: a model that accepts everything shows nothing.
 */
#include "test.h"

#include <stdint.h>

#include "base/cleanup.h"

#define N_SLOTS 2
/* Each slot is used twice with the second number. */
#define N_RECORDS 3
#define N_RECORDS_SLOW 4
#define STORES_MAX 6
#define OPS_MAX 96

enum word {
	WORD_DATA, /* one of each slot */
	WORD_STAMP = WORD_DATA + N_SLOTS,
	WORD_TAIL = WORD_STAMP + N_SLOTS,
	WORD_HEAD,
	WORD_PRODUCER_SLEEPING,
	WORD_CONSUMER_SLEEPING,
	WORD_DOORBELL,
	N_WORDS,
};

enum side { PRODUCER, CONSUMER };

/* As SBX_RING_SLEEPING_*. */
#define SLEEPING_DATA 1u
#define SLEEPING_ROOM 2u
#define SLEEPING_SOCKET 4u

/* A line of one side that is removed or moved. */
enum mutation {
	INTACT,
	NO_FENCE_AFTER_PUBLISHING,
	NO_FENCE_BEFORE_THE_SECOND_LOOK,
	NO_FENCE_BEFORE_POLLING,
	NO_SECOND_LOOK,
	NO_SECOND_LOOK_BEFORE_POLLING,
	NO_SOCKET_FLAG,
	DOORBELL_READ_AFTER_THE_SECOND_LOOK,
	DOORBELL_NOT_INCREASED,
	DOORBELL_NOT_WOKEN,
	EDGE_TAKEN_AFTER_THE_SECOND_LOOK,
	SOCKET_EMPTIED_AFTER_THE_SECOND_LOOK,
	NOT_PUBLISHED_BEFORE_SLEEPING,
	PUBLISHED_TOO_EARLY,
	SLEEPING_READ_BEFORE_PUBLISHING,
	ASKED_AFTER_THE_SECOND_LOOK,
	N_MUTATIONS,
};

enum op_kind {
	OP_END, /* of a fragment */
	OP_LABEL,
	OP_EXPAND, /* another fragment in this place */
	OP_FINISH,
	OP_JUMP,
	OP_CHOOSE,	 /* jump, or not */
	OP_IF_ALL_DONE,	 /* jump if all records went through this side */
	OP_IF_POSSIBLE,	 /* jump if there is a record, or room, as far as this side knows */
	OP_IF_ALL_TOLD,	 /* jump if there is nothing to publish */
	OP_IF_NOT_ASKED, /* jump if the other side does not sleep for what this one does */
	OP_IF_SOCKET,	 /* jump if it wants a byte on the socket */
	OP_LOOK,	 /* load the other side's index (or stamp) */
	OP_COPY,	 /* write or read the record, and step */
	OP_PUBLISH,	 /* store the own index (or stamp) */
	OP_PUBLISH_NEXT,
	OP_FENCE,
	OP_ASK, /* store sleeping */
	OP_ASK_SOCKET,
	OP_ASK_NO_MORE,
	OP_READ_SLEEPING, /* of the other side */
	OP_READ_DOORBELL,
	OP_INCREASE_DOORBELL,
	OP_FUTEX_WAIT, /* jump after a time-out */
	OP_FUTEX_WAKE,
	OP_EVENTFD_WRITE,
	OP_EPOLL_WAIT,
	OP_EPOLL_TAKE, /* does not wait */
	OP_SOCKET_SEND,
	OP_SOCKET_POLL,
	OP_SOCKET_EMPTY,
	N_OP_KINDS,
};

enum label { OUT, NEXT, MOVE, FINISHED, AGAIN, AWAKE, BY_SOCKET, TOLD, N_LABELS };

enum fragment { TELL, SLEEP, WAKE, SAY_SLEEPING, SAY_SLEEPING_ON_SOCKET };

/* Which side has an op. */
enum who { BOTH, ONLY_PRODUCER, NOT_WITH_CELLS /* except the consumer */ };

struct op {
	enum op_kind kind;
	uint8_t to;		/* a label; in a program: the index of an op */
	enum fragment fragment; /* of OP_EXPAND */
	enum who side;
	enum mutation without; /* the op is not there in this mutation */
	enum mutation only;    /* and is there only in this one */
	bool is_resolved;
};

/* shared_commit(), shared_flush(), shared_release(): publish, then look whether the other side
 * sleeps. A stamp is published by an exchange, which is a store and a fence. */
static const struct op tell_ops[] = {
	{ .kind = OP_IF_ALL_TOLD, .to = OUT },
	{ .kind = OP_READ_SLEEPING, .only = SLEEPING_READ_BEFORE_PUBLISHING },
	{ .kind = OP_PUBLISH },
	{ .kind = OP_FENCE, .without = NO_FENCE_AFTER_PUBLISHING },
	{ .kind = OP_READ_SLEEPING, .without = SLEEPING_READ_BEFORE_PUBLISHING },
	{ .kind = OP_IF_NOT_ASKED, .to = OUT },
	{ .kind = OP_EXPAND, .fragment = WAKE },
	{ .kind = OP_END },
};

/* wake_other() */
static const struct op wake_server_ops[] = {
	{ .kind = OP_EVENTFD_WRITE },
	{ .kind = OP_END },
};

static const struct op wake_client_ops[] = {
	{ .kind = OP_IF_SOCKET, .to = BY_SOCKET },
	{ .kind = OP_INCREASE_DOORBELL, .without = DOORBELL_NOT_INCREASED },
	{ .kind = OP_FUTEX_WAKE, .without = DOORBELL_NOT_WOKEN },
	{ .kind = OP_JUMP, .to = OUT },
	{ .kind = OP_LABEL, .to = BY_SOCKET },
	{ .kind = OP_SOCKET_SEND },
	{ .kind = OP_END },
};

/* say_sleeping(): one fence is for the head and for the word. */
static const struct op say_sleeping_ops[] = {
	{ .kind = OP_IF_ALL_TOLD, .to = TOLD },
	{ .kind = OP_PUBLISH, .without = NOT_PUBLISHED_BEFORE_SLEEPING },
	{ .kind = OP_ASK, .without = ASKED_AFTER_THE_SECOND_LOOK },
	{ .kind = OP_FENCE, .without = NO_FENCE_BEFORE_THE_SECOND_LOOK },
	{ .kind = OP_READ_SLEEPING },
	{ .kind = OP_IF_NOT_ASKED, .to = OUT },
	{ .kind = OP_EXPAND, .fragment = WAKE },
	{ .kind = OP_JUMP, .to = OUT },
	{ .kind = OP_LABEL, .to = TOLD },
	{ .kind = OP_ASK, .without = ASKED_AFTER_THE_SECOND_LOOK },
	{ .kind = OP_FENCE, .without = NO_FENCE_BEFORE_THE_SECOND_LOOK },
	{ .kind = OP_END },
};

/* The same with SBX_RING_SLEEPING_SOCKET. There is nothing left to publish. */
static const struct op say_sleeping_on_socket_ops[] = {
	{ .kind = OP_ASK_SOCKET, .without = NO_SOCKET_FLAG },
	{ .kind = OP_ASK, .only = NO_SOCKET_FLAG },
	{ .kind = OP_FENCE, .without = NO_FENCE_BEFORE_POLLING },
	{ .kind = OP_END },
};

/* The loop of shared_wait() with sleep_once(), as the server. */
static const struct op sleep_server_ops[] = {
	{ .kind = OP_LABEL, .to = AGAIN },
	{ .kind = OP_EXPAND, .fragment = SAY_SLEEPING },
	{ .kind = OP_LOOK, .without = NO_SECOND_LOOK },
	{ .kind = OP_IF_POSSIBLE, .to = AWAKE, .without = NO_SECOND_LOOK },
	{ .kind = OP_ASK, .only = ASKED_AFTER_THE_SECOND_LOOK },
	{ .kind = OP_EPOLL_TAKE, .only = EDGE_TAKEN_AFTER_THE_SECOND_LOOK },
	{ .kind = OP_EPOLL_WAIT },
	{ .kind = OP_LABEL, .to = AWAKE },
	{ .kind = OP_ASK_NO_MORE },
	{ .kind = OP_LOOK },
	{ .kind = OP_IF_POSSIBLE, .to = OUT },
	{ .kind = OP_JUMP, .to = AGAIN },
	{ .kind = OP_END },
};

/* As the client: once on the futex, then on the socket. */
static const struct op sleep_client_ops[] = {
	{ .kind = OP_READ_DOORBELL, .without = DOORBELL_READ_AFTER_THE_SECOND_LOOK },
	{ .kind = OP_EXPAND, .fragment = SAY_SLEEPING },
	{ .kind = OP_LOOK, .without = NO_SECOND_LOOK },
	{ .kind = OP_IF_POSSIBLE, .to = AWAKE, .without = NO_SECOND_LOOK },
	{ .kind = OP_ASK, .only = ASKED_AFTER_THE_SECOND_LOOK },
	{ .kind = OP_READ_DOORBELL, .only = DOORBELL_READ_AFTER_THE_SECOND_LOOK },
	{ .kind = OP_FUTEX_WAIT, .to = AWAKE },
	{ .kind = OP_LABEL, .to = AWAKE },
	{ .kind = OP_ASK_NO_MORE },
	{ .kind = OP_LOOK },
	{ .kind = OP_IF_POSSIBLE, .to = OUT },
	{ .kind = OP_LABEL, .to = AGAIN },
	{ .kind = OP_EXPAND, .fragment = SAY_SLEEPING_ON_SOCKET },
	{ .kind = OP_LOOK, .without = NO_SECOND_LOOK_BEFORE_POLLING },
	{ .kind = OP_IF_POSSIBLE, .to = BY_SOCKET, .without = NO_SECOND_LOOK_BEFORE_POLLING },
	{ .kind = OP_SOCKET_EMPTY, .only = SOCKET_EMPTIED_AFTER_THE_SECOND_LOOK },
	{ .kind = OP_SOCKET_POLL },
	{ .kind = OP_SOCKET_EMPTY },
	{ .kind = OP_LABEL, .to = BY_SOCKET },
	{ .kind = OP_ASK_NO_MORE },
	{ .kind = OP_LOOK },
	{ .kind = OP_IF_POSSIBLE, .to = OUT },
	{ .kind = OP_JUMP, .to = AGAIN },
	{ .kind = OP_END },
};

/* A side of a direction: the producer sends records, the consumer receives them. */
static const struct op side_ops[] = {
	{ .kind = OP_LABEL, .to = NEXT },
	{ .kind = OP_IF_ALL_DONE, .to = FINISHED },
	{ .kind = OP_IF_POSSIBLE, .to = MOVE },
	{ .kind = OP_LOOK },
	{ .kind = OP_IF_POSSIBLE, .to = MOVE },
	{ .kind = OP_EXPAND,
	  .fragment = TELL,
	  .side = ONLY_PRODUCER,
	  .without = NOT_PUBLISHED_BEFORE_SLEEPING },
	{ .kind = OP_EXPAND, .fragment = SLEEP },
	{ .kind = OP_JUMP, .to = NEXT },
	{ .kind = OP_LABEL, .to = MOVE },
	{ .kind = OP_PUBLISH_NEXT, .only = PUBLISHED_TOO_EARLY },
	{ .kind = OP_COPY },
	/* SBX_RING_MORE; a head is published lazily. */
	{ .kind = OP_CHOOSE, .to = NEXT, .side = NOT_WITH_CELLS },
	{ .kind = OP_EXPAND, .fragment = TELL },
	{ .kind = OP_JUMP, .to = NEXT },
	{ .kind = OP_LABEL, .to = FINISHED },
	{ .kind = OP_EXPAND, .fragment = TELL },
	{ .kind = OP_FINISH },
	{ .kind = OP_END },
};

struct config {
	bool is_producer_server, is_cells;
	uint8_t n_records;
	enum mutation mutations[2]; /* of each side */
};

struct program {
	struct op ops[OPS_MAX];
	uint8_t n_ops;
};

static bool is_server(const struct config *config, enum side side)
{
	return config->is_producer_server == (side == PRODUCER);
}

static const struct op *get_fragment(const struct config *config, enum side side,
				     enum fragment fragment)
{
	bool is_own_server = is_server(config, side);

	switch (fragment) {
	case TELL:
		return tell_ops;
	case SLEEP:
		return is_own_server ? sleep_server_ops : sleep_client_ops;
	case WAKE:
		return is_own_server ? wake_client_ops : wake_server_ops;
	case SAY_SLEEPING:
		return say_sleeping_ops;
	case SAY_SLEEPING_ON_SOCKET:
		return say_sleeping_on_socket_ops;
	}
	abort();
}

static bool is_left_out(const struct op *op, const struct config *config, enum side side)
{
	enum mutation mutation = config->mutations[side];

	if (side == CONSUMER && op->side == ONLY_PRODUCER)
		return true;
	if (side == PRODUCER && config->is_cells && op->side == NOT_WITH_CELLS)
		return true;
	return (op->without != INTACT && op->without == mutation) ||
	       (op->only != INTACT && op->only != mutation);
}

/* Adds the ops of a fragment, with jumps to labels of its own. */
static void program_add(struct program *program, const struct config *config, enum side side,
			const struct op *ops)
{
	uint8_t labels[N_LABELS] = { 0 };
	uint8_t begin = program->n_ops;

	for (const struct op *op = ops; op->kind != OP_END; op++) {
		if (is_left_out(op, config, side))
			continue;
		if (op->kind == OP_LABEL)
			labels[op->to] = program->n_ops;
		else if (op->kind == OP_EXPAND)
			program_add(program, config, side,
				    get_fragment(config, side, op->fragment));
		else if (program->n_ops < OPS_MAX)
			program->ops[program->n_ops++] = *op;
	}
	labels[OUT] = program->n_ops;
	for (uint8_t i = begin; i < program->n_ops; i++) {
		struct op *op = &program->ops[i];

		if (!op->is_resolved)
			op->to = labels[op->to];
		op->is_resolved = true;
	}
}

/* All members are bytes, so that states compare and hash as bytes. */
struct store {
	uint8_t word, value;
};

struct process {
	uint8_t at;	   /* index of the next op */
	uint8_t position;  /* records done */
	uint8_t published; /* of them, what the other side was told */
	uint8_t other;	   /* the other side's index, when it was last loaded */
	uint8_t sleeping;  /* of the other side, likewise */
	uint8_t doorbell;  /* server: the last value; client: the value read */
	uint8_t is_queued; /* in the futex */
	uint8_t n_stores;
	struct store stores[STORES_MAX];
};

struct state {
	uint8_t words[N_WORDS];
	uint8_t has_edge, has_bytes; /* in the epoll set; on the socket */
	struct process processes[2];
};

struct node {
	struct state state;
	uint32_t parent;
};

enum verdict { VERDICT_SAFE, VERDICT_LOST_WAKE_UP, VERDICT_WRONG_RECORD, VERDICT_TOO_LARGE };

/* The states seen, in the order of the search: those before @n_done have been expanded. */
struct search {
	struct config config;
	struct program programs[2];
	struct node *nodes;
	uint32_t *table; /* index + 1 of a node; 0: free; twice as many as nodes */
	uint32_t n_nodes, n_done, n_allocated;
	uint32_t culprit; /* node after which a record was wrong, or that is stuck */
	enum verdict verdict;
};

#define NODES_FIRST (1u << 12)
#define NODES_MAX (1u << 20)

static void search_free(struct search *search)
{
	free(search->nodes);
	free(search->table);
}

static uint32_t hash_state(const struct state *state)
{
	const uint8_t *bytes = (const uint8_t *)state;
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < sizeof(*state); i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3u;
	return (uint32_t)(hash ^ hash >> 29);
}

/* The place of the state in the table, or the free place for it. */
static uint32_t *search_find(struct search *search, const struct state *state)
{
	uint32_t last = 2 * search->n_allocated - 1;
	uint32_t at = hash_state(state) & last;

	for (; search->table[at] != 0; at = (at + 1) & last)
		if (memcmp(&search->nodes[search->table[at] - 1].state, state, sizeof(*state)) == 0)
			break;
	return &search->table[at];
}

/* Room for twice as many nodes. Most searches end early, and meson lets malloc() write into all
 * memory that it returns. */
static void search_grow(struct search *search)
{
	uint32_t n_allocated = search->n_allocated ? 2 * search->n_allocated : NODES_FIRST;

	free(search->table);
	search->nodes = realloc(search->nodes, n_allocated * sizeof(*search->nodes));
	search->table = calloc((size_t)2 * n_allocated, sizeof(*search->table));
	if (!search->nodes || !search->table)
		abort();
	search->n_allocated = n_allocated;
	for (uint32_t i = 0; i < search->n_nodes; i++)
		*search_find(search, &search->nodes[i].state) = i + 1;
}

static void search_add(struct search *search, const struct state *state)
{
	if (search->n_nodes == search->n_allocated)
		search_grow(search);

	uint32_t *place = search_find(search, state);

	if (*place != 0)
		return;
	if (search->n_nodes == NODES_MAX) {
		search->verdict = VERDICT_TOO_LARGE;
		return;
	}
	search->nodes[search->n_nodes] = (struct node){ *state, search->n_done };
	*place = ++search->n_nodes;
}

static uint8_t load(const struct state *state, enum side side, unsigned word)
{
	const struct process *process = &state->processes[side];

	for (uint8_t i = process->n_stores; i > 0; i--)
		if (process->stores[i - 1].word == word)
			return process->stores[i - 1].value;
	return state->words[word];
}

/* False while the buffer is full. */
static bool store(struct state *state, enum side side, unsigned word, uint8_t value)
{
	struct process *process = &state->processes[side];

	if (process->n_stores == STORES_MAX)
		return false;
	process->stores[process->n_stores++] = (struct store){ (uint8_t)word, value };
	return true;
}

static void drain_one(struct state *state, enum side side)
{
	struct process *process = &state->processes[side];

	state->words[process->stores[0].word] = process->stores[0].value;
	memmove(process->stores, process->stores + 1,
		sizeof(process->stores) - sizeof(struct store));
	process->n_stores--;
	process->stores[STORES_MAX - 1] = (struct store){ 0, 0 };
}

static unsigned word_of_sleeping(enum side side)
{
	return side == PRODUCER ? WORD_PRODUCER_SLEEPING : WORD_CONSUMER_SLEEPING;
}

static uint8_t flag_of_sleeping(enum side side)
{
	return side == PRODUCER ? SLEEPING_ROOM : SLEEPING_DATA;
}

static bool is_possible(const struct process *process, enum side side)
{
	return side == PRODUCER ? process->position - process->other < N_SLOTS
				: process->other > process->position;
}

static void look(const struct config *config, struct state *state, enum side side)
{
	struct process *process = &state->processes[side];

	if (side == PRODUCER)
		process->other = load(state, side, WORD_HEAD);
	else if (!config->is_cells)
		process->other = load(state, side, WORD_TAIL);
	else if (load(state, side, WORD_STAMP + process->position % N_SLOTS) ==
		 process->position + 1)
		process->other = (uint8_t)(process->position + 1);
}

/* One op of one side. */
struct move {
	const struct config *config;
	struct state *state;
	enum side side;
	struct process *process, *peer;
	bool jumps, is_wrong;
};

static bool publish(struct move *move, uint8_t position)
{
	bool is_in_record = move->side == PRODUCER && move->config->is_cells;
	unsigned word = move->side == CONSUMER ? WORD_HEAD : WORD_TAIL;

	if (is_in_record)
		word = WORD_STAMP + (position - 1u) % N_SLOTS;
	if (!store(move->state, move->side, word, position))
		return false;
	move->process->published = position;
	return true;
}

/* The functions of the ops: false if the side must wait. */
static bool finish(struct move *move)
{
	return false;
}

static bool jump(struct move *move)
{
	return move->jumps = true;
}

static bool choose(struct move *move)
{
	return true; /* step() also takes the jump */
}

static bool if_all_done(struct move *move)
{
	move->jumps = move->process->position == move->config->n_records;
	return true;
}

static bool if_possible(struct move *move)
{
	move->jumps = is_possible(move->process, move->side);
	return true;
}

static bool if_all_told(struct move *move)
{
	move->jumps = move->process->published == move->process->position;
	return true;
}

static bool if_not_asked(struct move *move)
{
	move->jumps = !(move->process->sleeping & flag_of_sleeping(!move->side));
	return true;
}

static bool if_socket(struct move *move)
{
	move->jumps = move->process->sleeping & SLEEPING_SOCKET;
	return true;
}

static bool look_at_other(struct move *move)
{
	look(move->config, move->state, move->side);
	return true;
}

static bool copy_record(struct move *move)
{
	unsigned word = WORD_DATA + move->process->position % N_SLOTS;
	uint8_t record = move->process->position + 1;

	if (move->side == CONSUMER)
		move->is_wrong = load(move->state, CONSUMER, word) != record;
	else if (!store(move->state, PRODUCER, word, record))
		return false;
	move->process->position++;
	return true;
}

static bool publish_all(struct move *move)
{
	return publish(move, move->process->position);
}

static bool publish_next(struct move *move)
{
	return publish(move, move->process->position + 1);
}

static bool fence(struct move *move)
{
	return move->process->n_stores == 0;
}

static bool ask(struct move *move)
{
	return store(move->state, move->side, word_of_sleeping(move->side),
		     flag_of_sleeping(move->side));
}

static bool ask_socket(struct move *move)
{
	return store(move->state, move->side, word_of_sleeping(move->side),
		     flag_of_sleeping(move->side) | SLEEPING_SOCKET);
}

static bool ask_no_more(struct move *move)
{
	return store(move->state, move->side, word_of_sleeping(move->side), 0);
}

static bool read_sleeping(struct move *move)
{
	move->process->sleeping = load(move->state, move->side, word_of_sleeping(!move->side));
	return true;
}

static bool read_doorbell(struct move *move)
{
	move->process->doorbell = load(move->state, move->side, WORD_DOORBELL);
	return true;
}

static bool increase_doorbell(struct move *move)
{
	if (!store(move->state, move->side, WORD_DOORBELL, move->process->doorbell + 1))
		return false;
	move->process->doorbell++;
	return true;
}

/* Stays at its op until the other side dequeues it. */
static bool futex_wait(struct move *move)
{
	if (move->process->is_queued || move->process->n_stores > 0)
		return false;
	move->process->is_queued = move->state->words[WORD_DOORBELL] == move->process->doorbell;
	return true;
}

static bool futex_wake(struct move *move)
{
	if (move->process->n_stores > 0)
		return false;
	move->peer->at += move->peer->is_queued;
	move->peer->is_queued = 0;
	return true;
}

static bool eventfd_write(struct move *move)
{
	move->state->has_edge = 1;
	return true;
}

static bool epoll_take(struct move *move)
{
	move->state->has_edge = 0;
	return true;
}

static bool epoll_wait(struct move *move)
{
	return move->state->has_edge && epoll_take(move);
}

/* A byte that does not fit is not missed: the socket is readable then. */
static bool socket_send(struct move *move)
{
	move->state->has_bytes = 1;
	return true;
}

static bool socket_poll(struct move *move)
{
	return move->state->has_bytes;
}

static bool socket_empty(struct move *move)
{
	move->state->has_bytes = 0;
	return true;
}

/* Private ops touch nothing of the other side: no step of it can come between them and the op
 * before that would change a thing. */
static const struct op_type {
	const char *name;
	bool (*carry_out)(struct move *move);
	bool is_private;
} op_types[N_OP_KINDS] = {
	[OP_FINISH] = { "finish", finish, false },
	[OP_JUMP] = { "jump", jump, true },
	[OP_CHOOSE] = { "choose", choose, false },
	[OP_IF_ALL_DONE] = { "if all done", if_all_done, true },
	[OP_IF_POSSIBLE] = { "if possible", if_possible, true },
	[OP_IF_ALL_TOLD] = { "if all told", if_all_told, true },
	[OP_IF_NOT_ASKED] = { "if not asked", if_not_asked, true },
	[OP_IF_SOCKET] = { "if socket", if_socket, true },
	[OP_LOOK] = { "look", look_at_other, false },
	[OP_COPY] = { "copy", copy_record, false },
	[OP_PUBLISH] = { "publish", publish_all, false },
	[OP_PUBLISH_NEXT] = { "publish next", publish_next, false },
	[OP_FENCE] = { "fence", fence, false },
	[OP_ASK] = { "ask", ask, false },
	[OP_ASK_SOCKET] = { "ask for bytes", ask_socket, false },
	[OP_ASK_NO_MORE] = { "ask no more", ask_no_more, false },
	[OP_READ_SLEEPING] = { "read sleeping", read_sleeping, false },
	[OP_READ_DOORBELL] = { "read doorbell", read_doorbell, false },
	[OP_INCREASE_DOORBELL] = { "increase doorbell", increase_doorbell, false },
	[OP_FUTEX_WAIT] = { "futex wait", futex_wait, false },
	[OP_FUTEX_WAKE] = { "futex wake", futex_wake, false },
	[OP_EVENTFD_WRITE] = { "eventfd write", eventfd_write, false },
	[OP_EPOLL_WAIT] = { "epoll wait", epoll_wait, false },
	[OP_EPOLL_TAKE] = { "epoll take", epoll_take, false },
	[OP_SOCKET_SEND] = { "socket send", socket_send, false },
	[OP_SOCKET_POLL] = { "socket poll", socket_poll, false },
	[OP_SOCKET_EMPTY] = { "socket empty", socket_empty, false },
};

/* One op. False: it must wait. */
static bool carry_out(struct search *search, struct state *state, enum side side)
{
	struct process *process = &state->processes[side];
	const struct op *op = &search->programs[side].ops[process->at];
	struct move move = {
		.config = &search->config,
		.state = state,
		.side = side,
		.process = process,
		.peer = &state->processes[!side],
	};

	if (!op_types[op->kind].carry_out(&move))
		return false;
	if (move.is_wrong)
		search->verdict = VERDICT_WRONG_RECORD;
	if (!process->is_queued)
		process->at = move.jumps ? op->to : process->at + 1;
	return true;
}

/* Private ops follow at once. */
static void run_ahead(struct search *search, struct state *state, enum side side)
{
	const struct op *ops = search->programs[side].ops;

	while (op_types[ops[state->processes[side].at].kind].is_private)
		(void)carry_out(search, state, side);
}

static void add_after(struct search *search, struct state *state)
{
	run_ahead(search, state, PRODUCER);
	run_ahead(search, state, CONSUMER);
	search_add(search, state);
}

/* Adds the states that follow when @side takes a step. True if there is one without a time-out. */
static bool step(struct search *search, const struct state *from, enum side side)
{
	const struct process *process = &from->processes[side];
	const struct op *op = &search->programs[side].ops[process->at];
	struct state state = *from;
	bool moves = carry_out(search, &state, side);

	if (moves)
		add_after(search, &state);
	if (process->n_stores > 0) {
		state = *from;
		drain_one(&state, side);
		add_after(search, &state);
		moves = true;
	}
	if (op->kind == OP_CHOOSE || process->is_queued) {
		state = *from;
		state.processes[side].at = op->to;
		state.processes[side].is_queued = 0;
		add_after(search, &state);
	}
	return moves;
}

static bool has_finished(const struct search *search, const struct state *state, enum side side)
{
	return search->programs[side].ops[state->processes[side].at].kind == OP_FINISH;
}

static void visit_all(struct search *search)
{
	for (; search->n_done < search->n_nodes && search->verdict == VERDICT_SAFE;
	     search->n_done++) {
		struct state state = search->nodes[search->n_done].state;
		bool moves = step(search, &state, PRODUCER);

		moves = step(search, &state, CONSUMER) || moves;
		search->culprit = search->n_done;
		if (!moves && !(has_finished(search, &state, PRODUCER) &&
				has_finished(search, &state, CONSUMER)))
			search->verdict = VERDICT_LOST_WAKE_UP;
	}
}

#define _cleanup_search_ _cleanup_(search_free)

static void search_run(struct search *search, const struct config *config)
{
	search->config = *config;
	search->config.n_records = test_is_slow() ? N_RECORDS_SLOW : N_RECORDS;
	for (enum side side = PRODUCER; side <= CONSUMER; side++)
		program_add(&search->programs[side], config, side, side_ops);

	struct state first = { .has_edge = 0 };

	add_after(search, &first);
	visit_all(search);
}

static void print_state(const struct search *search, const struct state *state)
{
	for (enum side side = PRODUCER; side <= CONSUMER; side++) {
		const struct process *process = &state->processes[side];
		const struct op *op = &search->programs[side].ops[process->at];

		printf("%s %s at %u, other %u, %u stores; ",
		       side == PRODUCER ? "#   producer" : "consumer", op_types[op->kind].name,
		       process->position, process->other, process->n_stores);
	}
	printf("tail %u head %u sleeping %u %u doorbell %u edge %u bytes %u\n",
	       state->words[WORD_TAIL], state->words[WORD_HEAD],
	       state->words[WORD_PRODUCER_SLEEPING], state->words[WORD_CONSUMER_SLEEPING],
	       state->words[WORD_DOORBELL], state->has_edge, state->has_bytes);
}

/* The way to the culprit, for whoever repairs the protocol. */
static void print_trace(const struct search *search)
{
	uint32_t way[512];
	size_t n = 0;

	for (uint32_t at = search->culprit; n < N_ELEMENTS(way); at = search->nodes[at].parent) {
		way[n++] = at;
		if (at == 0)
			break;
	}
	while (n-- > 0)
		print_state(search, &search->nodes[way[n]].state);
}

static const char *const verdict_names[] = { "safe", "lost wake-up", "wrong record",
					     "too many states" };

static void print_config(const struct config *config, const struct search *search)
{
	printf("# %s, the producer is the %s: %u states, %s\n",
	       config->is_cells ? "cells" : "stream",
	       config->is_producer_server ? "server" : "client", search->n_nodes,
	       verdict_names[search->verdict]);
}

static void no_wake_up_is_lost_and_records_arrive_in_order(void)
{
	for (unsigned i = 0; i < 4; i++) {
		struct config config = { .is_producer_server = i & 1, .is_cells = i & 2 };
		_cleanup_search_ struct search search = { .n_nodes = 0 };

		search_run(&search, &config);
		print_config(&config, &search);
		expect_eq(search.verdict, VERDICT_SAFE);
		if (search.verdict != VERDICT_SAFE)
			print_trace(&search);
	}
}

enum sleeper { ANY, SERVER_SLEEPS, CLIENT_SLEEPS, SERVER_WAKES };

/* @who has the line in question; SERVER_WAKES: it is in what the server does for the client. */
struct removal {
	const char *name;
	enum sleeper who;
	enum verdict verdict;
	bool is_batching; /* of what is published later than it is copied */
};

static const struct removal removals[N_MUTATIONS] = {
	[NO_FENCE_AFTER_PUBLISHING] = { "no fence after publishing", ANY, VERDICT_LOST_WAKE_UP,
					false },
	[NO_FENCE_BEFORE_THE_SECOND_LOOK] = { "no fence before the second look", ANY,
					      VERDICT_LOST_WAKE_UP, false },
	[NO_FENCE_BEFORE_POLLING] = { "no fence before polling the socket", CLIENT_SLEEPS,
				      VERDICT_LOST_WAKE_UP, false },
	[NO_SECOND_LOOK] = { "no second look", ANY, VERDICT_LOST_WAKE_UP, false },
	[NO_SECOND_LOOK_BEFORE_POLLING] = { "no second look before polling the socket",
					    CLIENT_SLEEPS, VERDICT_LOST_WAKE_UP, false },
	[NO_SOCKET_FLAG] = { "no flag of the socket", CLIENT_SLEEPS, VERDICT_LOST_WAKE_UP, false },
	[DOORBELL_READ_AFTER_THE_SECOND_LOOK] = { "doorbell read after the second look",
						  CLIENT_SLEEPS, VERDICT_LOST_WAKE_UP, false },
	[DOORBELL_NOT_INCREASED] = { "doorbell not increased", SERVER_WAKES, VERDICT_LOST_WAKE_UP,
				     false },
	[DOORBELL_NOT_WOKEN] = { "doorbell increased but not woken", SERVER_WAKES,
				 VERDICT_LOST_WAKE_UP, false },
	[EDGE_TAKEN_AFTER_THE_SECOND_LOOK] = { "edge taken after the second look", SERVER_SLEEPS,
					       VERDICT_LOST_WAKE_UP, false },
	[SOCKET_EMPTIED_AFTER_THE_SECOND_LOOK] = { "socket emptied after the second look",
						   CLIENT_SLEEPS, VERDICT_LOST_WAKE_UP, false },
	[NOT_PUBLISHED_BEFORE_SLEEPING] = { "not published before sleeping", ANY,
					    VERDICT_LOST_WAKE_UP, true },
	[PUBLISHED_TOO_EARLY] = { "published before the record is copied", ANY,
				  VERDICT_WRONG_RECORD, false },
	[SLEEPING_READ_BEFORE_PUBLISHING] = { "sleeping read before publishing", ANY,
					      VERDICT_LOST_WAKE_UP, false },
	[ASKED_AFTER_THE_SECOND_LOOK] = { "sleeping stored after the second look", ANY,
					  VERDICT_LOST_WAKE_UP, false },
};

static bool has_line(const struct removal *removal, const struct config *config, enum side side)
{
	if (removal->is_batching && config->is_cells && side == PRODUCER)
		return false;
	if (removal->who == ANY)
		return true;
	return is_server(config, side) == (removal->who != CLIENT_SLEEPS);
}

static void expect_found(enum mutation mutation, const struct config *intact, enum side side)
{
	const struct removal *removal = &removals[mutation];
	struct config config = *intact;
	_cleanup_search_ struct search search = { .n_nodes = 0 };

	config.mutations[side] = mutation;
	search_run(&search, &config);
	printf("# %s, %s is the %s: %s: %s after %u states\n", config.is_cells ? "cells" : "stream",
	       side == PRODUCER ? "producer" : "consumer",
	       is_server(&config, side) ? "server" : "client", removal->name,
	       verdict_names[search.verdict], search.n_nodes);
	expect_eq(search.verdict, removal->verdict);
}

static void finds_the_fault_when_one_line_is_removed_or_moved(void)
{
	for (enum mutation mutation = INTACT + 1; mutation < N_MUTATIONS; mutation++)
		for (unsigned i = 0; i < 8; i++) {
			struct config config = { .is_producer_server = i & 1, .is_cells = i & 2 };
			enum side side = i & 4 ? CONSUMER : PRODUCER;

			if (has_line(&removals[mutation], &config, side))
				expect_found(mutation, &config, side);
		}
}

static const struct test tests[] = {
	TEST(no_wake_up_is_lost_and_records_arrive_in_order),
	TEST(finds_the_fault_when_one_line_is_removed_or_moved),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
