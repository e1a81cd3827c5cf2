/* SPDX-License-Identifier: MIT */

/*
 * What has come and is not committed yet
 *
 * A copy of each packet stays here until its commit has succeeded: a transaction that fails takes
 * all of its records with it, and they are added again from here.
 */

#include <stdlib.h>
#include <string.h>

#include "collect/collect-internal.h"

struct waiting *waiting_new(struct client *client, const void *bytes, size_t n_bytes)
{
	struct waiting *waiting = malloc(sizeof(*waiting) + n_bytes);

	if (!waiting)
		return NULL;
	*waiting = (struct waiting){ .client = client, .n_bytes = n_bytes };
	if (client)
		waiting->writer = client->writer;
	memcpy(waiting->bytes, bytes, n_bytes);
	return waiting;
}

void waiting_free(struct waiting *waiting)
{
	free(waiting);
}

void waiting_free_ptr(struct waiting **waiting)
{
	waiting_free(*waiting);
}

void queue_init(struct queue *queue)
{
	*queue = (struct queue){ .end = &queue->first };
}

void queue_add(struct queue *queue, struct waiting *waiting)
{
	waiting->next = NULL;
	*queue->end = waiting;
	queue->end = &waiting->next;
	queue->n++;
	queue->n_bytes += sizeof(*waiting) + waiting->n_bytes;
	if (!waiting->client)
		return;
	waiting->is_expected = waiting->is_sync || waiting->refusal;
	waiting->client->n_waiting++;
	waiting->client->n_expected += waiting->is_expected;
}

struct waiting *queue_take(struct queue *queue)
{
	struct waiting *waiting = queue->first;

	if (!waiting)
		return NULL;
	queue->first = waiting->next;
	if (!queue->first)
		queue->end = &queue->first;
	queue->n--;
	queue->n_bytes -= sizeof(*waiting) + waiting->n_bytes;
	return waiting;
}

void queue_forget(struct queue *queue, const struct client *client)
{
	for (struct waiting *waiting = queue->first; waiting; waiting = waiting->next)
		if (waiting->client == client)
			waiting->client = NULL;
}

void queue_not_added(struct queue *queue)
{
	for (struct waiting *waiting = queue->first; waiting; waiting = waiting->next)
		waiting->is_added = false;
}

void queue_clear(struct queue *queue)
{
	for (struct waiting *waiting; (waiting = queue_take(queue));)
		waiting_free(waiting);
}
