/* SPDX-License-Identifier: MIT */
#pragma once

/* libyaml's event loop, the peer for trees and policies */

#include <yaml.h>

#include "base/cleanup.h"
#include "base/text.h"

/* The number of scalars, or 0 after an error. */
static inline size_t read_events(const struct text *text)
{
	_cleanup_(yaml_parser_delete) yaml_parser_t parser;
	size_t n_scalars = 0;
	yaml_event_type_t type = YAML_NO_EVENT;

	if (!yaml_parser_initialize(&parser))
		return 0;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text->data, text->len);
	while (type != YAML_STREAM_END_EVENT) {
		yaml_event_t event;

		if (!yaml_parser_parse(&parser, &event))
			return 0;
		type = event.type;
		n_scalars += type == YAML_SCALAR_EVENT;
		yaml_event_delete(&event);
	}
	return n_scalars;
}
