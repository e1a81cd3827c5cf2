/* SPDX-License-Identifier: MIT */

/*
 * Why a message is refused: the word that programs read, and the status of the answer
 */

#include "http/http.h"

static const struct {
	const char *word;
	unsigned status;
} faults[N_HTTP_FAULTS] = {
	[HTTP_OK] = { "ok", 200 },
	[HTTP_HEAD_TOO_BIG] = { "head-too-big", 431 },
	[HTTP_TOO_MANY_FIELDS] = { "too-many-fields", 431 },
	[HTTP_LINE_TOO_LONG] = { "line-too-long", 414 },
	[HTTP_CONTROL_BYTE] = { "control-byte", 400 },
	[HTTP_BARE_CR] = { "bare-cr", 400 },
	[HTTP_BARE_LF] = { "bare-lf", 400 },
	[HTTP_EMPTY_LINE] = { "empty-line", 400 },
	[HTTP_FOLD] = { "folded-field", 400 },
	[HTTP_REQUEST_LINE] = { "request-line", 400 },
	[HTTP_METHOD] = { "method", 400 },
	[HTTP_METHOD_TOO_LONG] = { "method-too-long", 501 },
	[HTTP_NO_VERSION] = { "version-missing", 505 },
	[HTTP_VERSION] = { "version", 400 },
	[HTTP_VERSION_UNKNOWN] = { "version-unknown", 505 },
	[HTTP_PREFACE] = { "http-2-preface", 505 },
	[HTTP_STATUS_LINE] = { "status-line", 400 },
	[HTTP_STATUS] = { "status", 400 },
	[HTTP_TARGET_FORM] = { "target-form", 400 },
	[HTTP_TARGET_SCHEME] = { "target-scheme", 400 },
	[HTTP_TARGET_BYTE] = { "target-byte", 400 },
	[HTTP_TARGET_ESCAPE] = { "target-escape", 400 },
	[HTTP_TARGET_NO_PATH] = { "target-path-missing", 400 },
	[HTTP_USERINFO] = { "userinfo", 400 },
	[HTTP_HOST_EMPTY] = { "host-empty", 400 },
	[HTTP_HOST_TOO_LONG] = { "host-too-long", 400 },
	[HTTP_HOST_NAME] = { "host-name", 400 },
	[HTTP_HOST_ADDRESS] = { "host-address", 400 },
	[HTTP_PORT] = { "port", 400 },
	[HTTP_PORT_MISSING] = { "port-missing", 400 },
	[HTTP_FIELD_NAME] = { "field-name", 400 },
	[HTTP_FIELD_SPACE] = { "field-space", 400 },
	[HTTP_FIELD_COLON] = { "field-colon-missing", 400 },
	[HTTP_HOST_FIELD_MISSING] = { "host-field-missing", 400 },
	[HTTP_HOST_FIELD_REPEATED] = { "host-field-repeated", 400 },
	[HTTP_HOST_FIELD] = { "host-field", 400 },
	[HTTP_HOST_DIFFERS] = { "host-field-differs", 400 },
	[HTTP_CONNECTION] = { "connection", 400 },
	[HTTP_CONNECTION_NAMES] = { "connection-names-field", 400 },
	[HTTP_UPGRADE] = { "upgrade", 501 },
	[HTTP_UPGRADE_MALFORMED] = { "upgrade-malformed", 400 },
	[HTTP_SWITCH] = { "switch-not-asked", 400 },
	[HTTP_LENGTH] = { "length", 400 },
	[HTTP_LENGTH_REPEATED] = { "length-repeated", 400 },
	[HTTP_LENGTH_AND_ENCODING] = { "length-and-encoding", 400 },
	[HTTP_ENCODING] = { "encoding", 501 },
	[HTTP_ENCODING_REPEATED] = { "encoding-repeated", 400 },
	[HTTP_ENCODING_IN_1_0] = { "encoding-in-http-1.0", 400 },
	[HTTP_BODY_FORBIDDEN] = { "body-forbidden", 400 },
	[HTTP_CHUNK_SIZE] = { "chunk-size", 400 },
	[HTTP_CHUNK_TOO_BIG] = { "chunk-too-big", 400 },
	[HTTP_CHUNK_EXTENSION] = { "chunk-extension", 501 },
	[HTTP_CHUNK_END] = { "chunk-end", 400 },
	[HTTP_TRAILER] = { "trailer", 501 },
	[HTTP_TRUNCATED] = { "truncated", 400 },
};

const char *http_fault_word(enum http_fault fault)
{
	return faults[fault].word;
}

unsigned http_fault_status(enum http_fault fault)
{
	return faults[fault].status;
}
