/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The complete check of an artefact's rows; its sections lie within the block
 */

struct artefact;

/* 0, with *@problem what is wrong with it (untouched: nothing); -ENOMEM. */
int artefact_check(const struct artefact *artefact, const char **problem);
