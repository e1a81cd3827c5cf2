/* SPDX-License-Identifier: MIT */
#pragma once

/* Supported architectures have no system call with this number or a higher one */

#define NUMBERS 1024
