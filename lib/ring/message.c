/* SPDX-License-Identifier: MIT */

/*
 * The table of message types, and the JSON of module messages
 *
 * A released type keeps its number and its direction. tests/check/ring.py compares the table with
 * the enum and with sbx-frame-layout(7).
 */

#include "ring/message.h"

#include <errno.h>
#include <string.h>

#include <sbx/frame-layout.h>

#include "base/json.h"
#include "ring/members.h"

/* A path is PATH_MAX without its NUL; a host is a DNS name of 253 bytes, ':' and a port. The least
 * module message is {"module":"","error":0,"body":0}; only services send as much as a frame has. */
#define PATH_BYTES 4095
#define HOST_BYTES 259
#define MODULE_LEAST 32
#define MODULE_MOST 1048576

/* clang-format off */
#define ROW(sender, id, payload, min, max, meaning, name) \
	[MESSAGE_##name] = { #name, MESSAGE_BY_##sender, REQUEST_ID_IS_##id, PAYLOAD_IS_##payload, (min), (max), meaning }

static const struct message_row rows[MESSAGE_TYPE_END] = {
	ROW(WORKER, ZERO, BYTES, 0, SBX_FRAME_PAYLOAD_MAX, "output of the code", STDOUT),
	ROW(WORKER, FREE, PATH, 1, PATH_BYTES, "tells that a file is read, and does not wait", FS_READ),
	ROW(WORKER, NEEDED, PATH, 1, PATH_BYTES, "asks whether a file may be written", FS_WRITE),
	ROW(WORKER, NEEDED, HOST, 2, HOST_BYTES, "asks whether a connection may be made", NET_CONNECT),
	ROW(WORKER, NEEDED, PATH, 1, PATH_BYTES, "asks whether a program may be executed", EXEC),
	ROW(WORKER, FREE, PATH, 1, PATH_BYTES, "tells that a directory is listed, and does not wait", LISTDIR),
	ROW(SUPERVISOR, NEEDED, EMPTY, 0, 0, "permits the request with this id", ALLOW),
	ROW(SUPERVISOR, NEEDED, EMPTY, 0, 0, "refuses the request with this id", DENY),
	ROW(SUPERVISOR, ZERO, TEXT, 0, SBX_FRAME_PAYLOAD_MAX, "code to run", CODE),

	ROW(SUPERVISOR, NEEDED, MODULE, MODULE_LEAST, MODULE_MOST, "loads the module; body: its path", LOAD_MODULE),
	ROW(WORKER, NEEDED, MODULE, MODULE_LEAST, MODULE_MOST, "the module is loaded", MODULE_LOADED),
	ROW(SUPERVISOR, NEEDED, MODULE, MODULE_LEAST, MODULE_MOST, "starts the module", START_MODULE),
	ROW(WORKER, NEEDED, MODULE, MODULE_LEAST, MODULE_MOST, "the module is started", MODULE_STARTED),
	ROW(SUPERVISOR, NEEDED, MODULE, MODULE_LEAST, MODULE_MOST, "stops the module", STOP_MODULE),
	ROW(WORKER, NEEDED, MODULE, MODULE_LEAST, MODULE_MOST, "the module is stopped", MODULE_STOPPED),
	ROW(SUPERVISOR, NEEDED, MODULE, MODULE_LEAST, SBX_FRAME_PAYLOAD_MAX, "calls a service of the module", CALL_SERVICE),
	ROW(WORKER, NEEDED, MODULE, MODULE_LEAST, SBX_FRAME_PAYLOAD_MAX, "the result of a service", SERVICE_RESPONSE),
	ROW(BOTH, ZERO, MODULE, MODULE_LEAST, MODULE_MOST, "the sender is alive", HEARTBEAT),
	ROW(SUPERVISOR, NEEDED, MODULE, MODULE_LEAST, MODULE_MOST, "asks for the status", STATUS_QUERY),
	ROW(WORKER, FREE, MODULE, MODULE_LEAST, MODULE_MOST, "the status, asked for or not (id 0)", STATUS_REPORT),
	ROW(SUPERVISOR, FREE, MODULE, MODULE_LEAST, MODULE_MOST, "ends the process", SHUTDOWN),
	ROW(WORKER, FREE, MODULE, MODULE_LEAST, MODULE_MOST, "a request failed, or an error without one (id 0)", ERROR),
};
/* clang-format on */

const struct message_row *message_row(unsigned type)
{
	return type < N_ELEMENTS(rows) && rows[type].name ? &rows[type] : NULL;
}

const char *message_name(unsigned type)
{
	const struct message_row *row = message_row(type);

	return row ? row->name : NULL;
}

int message_check(unsigned type, enum message_sender sender, uint32_t request_id,
		  size_t payload_size)
{
	const struct message_row *row = message_row(type);

	if (!row)
		return MESSAGE_UNKNOWN_TYPE;
	if (!(row->sender & sender))
		return MESSAGE_WRONG_SENDER;
	if (row->request_id == REQUEST_ID_IS_ZERO && request_id != 0)
		return MESSAGE_REQUEST_ID_NOT_ZERO;
	if (row->request_id == REQUEST_ID_IS_NEEDED && request_id == 0)
		return MESSAGE_REQUEST_ID_MISSING;
	if (payload_size < row->payload_min)
		return MESSAGE_PAYLOAD_TOO_SHORT;
	if (payload_size > row->payload_max)
		return MESSAGE_PAYLOAD_TOO_LONG;
	return MESSAGE_OK;
}

int message_request_id(uint64_t id, uint32_t *ret)
{
	if (id > UINT32_MAX)
		return -ERANGE;
	*ret = (uint32_t)id;
	return 0;
}

/* A name is printed by tools and in records: no control characters, marks or NUL. */
static const char *name_problem(const char *name, size_t n_bytes)
{
	if (n_bytes > MODULE_NAME_MAX)
		return "the name of the module is too long";
	for (size_t at = 0; at < n_bytes;) {
		uint32_t character;
		size_t n = utf8_decode(name + at, n_bytes - at, &character);

		if (n == 0)
			return "the name of the module is not UTF-8";
		if (text_is_hidden(character))
			return "the name of the module has a character that cannot be seen";
		at += n;
	}
	return NULL;
}

static const char *take_module(struct json_scanner *scanner, const struct json_item *value,
			       void *ret)
{
	struct module_message *message = ret;
	_cleanup_text_ struct text name = TEXT_INIT;
	const char *problem;

	if (value->kind != JSON_STRING)
		return "'module' is not a string";
	/* \u0041 is the longest way to write one byte. */
	if (value->n_bytes > 6 * MODULE_NAME_MAX)
		return "the name of the module is too long";
	if (json_decode(value, &name) < 0)
		return "the name of the module is not UTF-8";
	if (text_status(&name) < 0)
		return "there is not enough memory for the name of the module";
	problem = name_problem(text_string(&name), name.len);
	if (!problem)
		memcpy(message->module, text_string(&name), name.len + 1);
	return problem;
}

static const char *take_error(struct json_scanner *scanner, const struct json_item *value,
			      void *ret)
{
	struct module_message *message = ret;
	int64_t number;

	if (value->kind != JSON_NUMBER || json_i64(value, &number) < 0 || number < INT32_MIN ||
	    number > INT32_MAX)
		return "'error' is not an integer of 32 bits";
	message->error = (int32_t)number;
	return NULL;
}

static const char *take_body(struct json_scanner *scanner, const struct json_item *value, void *ret)
{
	struct module_message *message = ret;

	return members_take_value(scanner, value, &message->body, &message->body_size);
}

static const struct member members[] = {
	MEMBER("module", take_module),
	MEMBER("error", take_error),
	MEMBER("body", take_body),
};

int module_parse(const void *bytes, size_t n_bytes, struct module_message *ret,
		 const char **ret_problem)
{
	struct module_message message = { .error = 0 };
	const char *problem = members_read(bytes, n_bytes, members, N_ELEMENTS(members), &message);

	if (problem) {
		*ret_problem = problem;
		return -EBADMSG;
	}
	*ret = message;
	return 0;
}

int module_print(const struct module_message *message, struct text *out)
{
	size_t len = out->len, n_name = strnlen(message->module, sizeof(message->module));
	struct module_message again;
	struct json_writer writer;
	const char *problem = name_problem(message->module, n_name);

	if (problem)
		return -EBADMSG;
	json_begin_object(&writer, out);
	json_add_plain_name(&writer, "module");
	json_add_string_bytes(&writer, message->module, n_name);
	json_add_plain_name(&writer, "error");
	json_add_i64(&writer, message->error);
	json_add_plain_name(&writer, "body");
	json_add_raw(&writer, message->body, message->body_size);
	json_end_object(&writer);
	if (text_status(out) < 0)
		return -ENOMEM;
	/* A body like '0,"error":0' would be more members; the reader's own rules find it. */
	if (module_parse(out->data + len, out->len - len, &again, &problem) == 0)
		return 0;
	text_truncate(out, len);
	return -EBADMSG;
}
