/* SPDX-License-Identifier: MIT */
#pragma once

/* The policy of a proxy: a checked artefact, its memory and an evaluator */

#include "proxy/proxy.h"

struct artefact;
struct policy_engine;

const struct artefact *proxy_policy_artefact(const struct proxy_policy *policy);
struct policy_engine *proxy_policy_engine(const struct proxy_policy *policy);
