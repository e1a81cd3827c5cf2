/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the two halves of policy/glob share
 */

/* What is behind the ']' of the class whose '[' stands before @at; NULL where it is not closed or
 * names an unknown kind. */
const char *glob_skip_class(const char *at, const char *end);
