/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The types of messages: one table, from which names, checks and sbx-frame-layout(7) come
 *
 * The numbers of the worker protocol are Buntime's. A module message has 0x40 + the number of CDMF,
 * and its payload is a JSON object: {"module":"NAME","error":0,"body":VALUE}.
 *
 * A channel carries frames of any type, so lib/ring does not check them. "sbx-ring inspect --dump"
 * names the type of a message only if message_check() accepts it as a frame of one of the sides.
 * The order of the check: the type, the side that sent it, the request id, the size of the payload.
 * It does not read the payload; module_parse() does.
 */

#include <stddef.h>
#include <stdint.h>

struct text;

enum message_type {
	/* The worker protocol. */
	MESSAGE_STDOUT = 0x00,
	MESSAGE_FS_READ = 0x01,
	MESSAGE_FS_WRITE = 0x02,
	MESSAGE_NET_CONNECT = 0x03,
	MESSAGE_EXEC = 0x04,
	MESSAGE_LISTDIR = 0x05,
	MESSAGE_ALLOW = 0x10,
	MESSAGE_DENY = 0x11,
	MESSAGE_CODE = 0x20,
	/* The module protocol. */
	MESSAGE_LOAD_MODULE = 0x41,
	MESSAGE_MODULE_LOADED = 0x42,
	MESSAGE_START_MODULE = 0x43,
	MESSAGE_MODULE_STARTED = 0x44,
	MESSAGE_STOP_MODULE = 0x45,
	MESSAGE_MODULE_STOPPED = 0x46,
	MESSAGE_CALL_SERVICE = 0x4a,
	MESSAGE_SERVICE_RESPONSE = 0x4b,
	MESSAGE_HEARTBEAT = 0x54,
	MESSAGE_STATUS_QUERY = 0x55,
	MESSAGE_STATUS_REPORT = 0x56,
	MESSAGE_SHUTDOWN = 0x5e,
	MESSAGE_ERROR = 0x5f,
};

/* The sides that may send a message; bits. */
enum message_sender {
	MESSAGE_BY_SUPERVISOR = 1,
	MESSAGE_BY_WORKER = 2,
	MESSAGE_BY_BOTH = 3,
};

enum message_request_id {
	REQUEST_ID_IS_ZERO,   /* the message has no response */
	REQUEST_ID_IS_FREE,   /* 0, or a number that no message answers */
	REQUEST_ID_IS_NEEDED, /* the message awaits a response, or is one */
};

enum message_payload {
	PAYLOAD_IS_EMPTY,
	PAYLOAD_IS_BYTES,
	PAYLOAD_IS_TEXT, /* UTF-8 */
	PAYLOAD_IS_PATH, /* bytes without NUL, as for open(2) */
	PAYLOAD_IS_HOST, /* HOST:PORT */
	PAYLOAD_IS_MODULE,
};

struct message_row {
	const char *name; /* "FS_READ" */
	enum message_sender sender;
	enum message_request_id request_id;
	enum message_payload payload;
	uint32_t payload_min, payload_max; /* bytes */
	const char *meaning;		   /* "asks before reading a file, without waiting" */
};

/*
 * Why message_check() refuses a frame. For a program that speaks these protocols: a worker causes
 * the two sizes also with open("") or a path over PATH_MAX, so they may be answered with DENY; the
 * others are reasons to close the channel.
 */
enum message_refusal {
	MESSAGE_OK = 0,
	MESSAGE_UNKNOWN_TYPE,
	MESSAGE_WRONG_SENDER,
	MESSAGE_REQUEST_ID_NOT_ZERO,
	MESSAGE_REQUEST_ID_MISSING,
	MESSAGE_PAYLOAD_TOO_SHORT,
	MESSAGE_PAYLOAD_TOO_LONG,
	MESSAGE_N_REFUSALS,
};

/* One more than the greatest type: for (type = 0; type < MESSAGE_TYPE_END; type++). */
#define MESSAGE_TYPE_END 0x60

/* NULL if no message has this type. */
const struct message_row *message_row(unsigned type);
const char *message_name(unsigned type);
/* 0, or an enum message_refusal. @sender is the one side that has sent the frame. */
int message_check(unsigned type, enum message_sender sender, uint32_t request_id,
		  size_t payload_size);
/* CDMF has request ids of 64 bits: -ERANGE for one that the frame cannot carry. */
int message_request_id(uint64_t id, uint32_t *ret);

/* The longest name of a module, in bytes. */
#define MODULE_NAME_MAX 255

struct module_message {
	char module[MODULE_NAME_MAX + 1]; /* may be "": no module is loaded yet */
	int32_t error;			  /* 0: success */
	const char *body;		  /* one JSON value; of a parsed message: in its bytes */
	size_t body_size;
};

/*
 * Reads the payload of a module message: exactly the three members, each once, in any order. The
 * name is UTF-8 without characters that text_is_hidden(). -EBADMSG with *@ret_problem otherwise.
 */
int module_parse(const void *bytes, size_t n_bytes, struct module_message *ret,
		 const char **ret_problem);
/* Adds the payload. -EBADMSG if module_parse() would refuse it; then nothing is added. -ENOMEM. */
int module_print(const struct module_message *message, struct text *out);
