/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * No architecture that we build for has a system call with this number or a higher one
 */

#define NUMBERS 1024
