/* SPDX-License-Identifier: MIT */
#ifndef SBX_ERROR_H
#define SBX_ERROR_H

/*
 * Errors that a user can act on
 *
 * A function that can fail for a reason the user can do something about takes a "struct sbx_error
 * *err" as its last parameter and fills it once, where the failure arises. The caller owns the
 * struct, usually on its stack, starts it as { 0 }, and may pass NULL. The function also returns
 * the negative errno, so a caller that does not need the text can ignore the struct.
 *
 * A text that does not fit ends in "..."; it is never cut inside a UTF-8 character.
 */

#ifdef __cplusplus
extern "C" {
#endif

#define SBX_ERROR_TEXT_SIZE 512

enum sbx_level {
	SBX_LEVEL_ERROR = 0,
	SBX_LEVEL_WARN = 1,
	SBX_LEVEL_INFO = 2,
};

struct sbx_error {
	int code;			   /* negative errno; 0: no error */
	int level;			   /* enum sbx_level */
	char what[SBX_ERROR_TEXT_SIZE];	   /* the failed operation: "cannot open 'p.yaml'" */
	char why[SBX_ERROR_TEXT_SIZE];	   /* why it failed; empty: the text of the errno */
	char fix[SBX_ERROR_TEXT_SIZE];	   /* what to type or change; empty: none is known */
	char context[SBX_ERROR_TEXT_SIZE]; /* state that helps to understand it; often empty */
};

#if defined(__GNUC__)
#define SBX_API __attribute__((__visibility__("default")))
#define SBX_PRINTF(format, first) __attribute__((__format__(__printf__, format, first)))
#else
#define SBX_API
#define SBX_PRINTF(format, first)
#endif

/*
 * Empties @err, then stores @code and the failed operation. Call it before the other three. Returns
 * @code, so that "return sbx_error_what(err, r, ...)" is one line.
 */
SBX_API int sbx_error_what(struct sbx_error *err, int code, const char *format, ...)
	SBX_PRINTF(3, 4);
SBX_API void sbx_error_why(struct sbx_error *err, const char *format, ...) SBX_PRINTF(2, 3);
SBX_API void sbx_error_fix(struct sbx_error *err, const char *format, ...) SBX_PRINTF(2, 3);
SBX_API void sbx_error_context(struct sbx_error *err, const char *format, ...) SBX_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif

#endif
