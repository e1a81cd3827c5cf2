/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Pieces of the text of a decision
 */

#include <stdint.h>

#include "policy/request.h"

struct artefact_rule;

const struct artefact_rule *decision_rule(const struct artefact *artefact, uint32_t row);
/* "rule 'x' (p.yaml:7)" */
void decision_add_rule(struct text *out, const struct artefact *artefact, uint32_t row);
/* The string, safe on a terminal. */
void decision_add_visible(struct text *out, const char *string);
/* "fs.write '/srv/a'", "net.connect example.com:443" */
void decision_add_subject(struct text *out, const struct policy_request *request);
