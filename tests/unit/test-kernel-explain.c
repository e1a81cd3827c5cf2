/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "kernel/kernel.h"
#include "step-flags.h"
#include "test.h"

/* The error for the failure of @step with @code. */
static struct sbx_error explain(struct step step, int code)
{
	const struct plan plan = { .steps = &step, .n_steps = 1 };
	const struct kernel_failure failure = { .step = 0, .code = code };
	struct sbx_error err = { 0 };

	kernel_explain(&plan, &failure, &err);
	kernel_explain(&plan, &failure, NULL);
	return err;
}

static void says_what_failed_why_and_what_to_change(void)
{
	struct sbx_error err =
		explain((struct step){ .kind = STEP_BIND,
				       .bind.source = "/srv/outside",
				       .bind.target = "/srv/inside",
				       .origin = { ORIGIN_RULE, "p.yaml:14 'data'" } },
			-ENOENT);

	expect_eq(err.code, -ENOENT);
	expect(strstr(err.what, "'/srv/inside'") != NULL);
	expect(!strstr(err.what, "%s"));
	expect_str(
		err.why,
		"p.yaml:14 'data': '/srv/outside' does not exist: it was removed after the plan was "
		"made, or it is a device that /dev lacks");
	expect(strstr(err.fix, "optional: true") != NULL);
}

static void the_same_errno_means_what_the_step_makes_of_it(void)
{
	struct step proc = { .kind = STEP_PROC, .proc.target = "/proc" };
	struct step bind = { .kind = STEP_BIND, .bind.source = "/s", .bind.target = "/t" };
	struct step mask = { .kind = STEP_MASK, .mask.target = "/t" };
	struct step namespaces = { .kind = STEP_NAMESPACES };

	expect(strstr(explain(namespaces, -EAGAIN).fix, "ulimit -u") != NULL);
	expect(strstr(explain(proc, -EPERM).why, "covered") != NULL);
	expect(!strstr(explain(bind, -EPERM).why, "covered"));
	expect(strstr(explain(bind, -ELOOP).why, "symbolic link") != NULL);
	expect(strstr(explain(bind, -EXDEV).why, "'/t' does not exist") != NULL);
	expect(strstr(explain(mask, -EACCES).why, "may not search") != NULL);
	expect(strstr(explain(mask, -EACCES).fix, "the directory that may not be searched") !=
	       NULL);
}

static void flags_of_the_step_may_matter(void)
{
	struct step step = { .kind = STEP_BIND, .bind.source = "/s", .bind.target = "/t" };

	expect(!strstr(explain(step, -EINVAL).why, "idmapped"));
	step.bind.owner.is_set = true;
	expect(strstr(explain(step, -EINVAL).why, "idmapped") != NULL);
	expect(strstr(explain(step, -EINVAL).fix, "--uid") != NULL);
}

static void says_where_else_changes_could_land(void)
{
	static const int codes[] = { -EROFS, -EACCES, -EXDEV, -EINVAL };
	struct step step = { .kind = STEP_OVERLAY,
			     .overlay.source = "/s",
			     .overlay.target = "/t",
			     .overlay.upper = "/u",
			     .overlay.work = "/w" };

	for (size_t i = 0; i < N_ELEMENTS(codes); i++)
		expect(strstr(explain(step, codes[i]).fix, "--out") != NULL);
	expect(strstr(explain(step, -EROFS).why, "'/u' or '/w'") != NULL);
}

static void tells_where_a_step_comes_from(void)
{
	struct step step = { .kind = STEP_BIND, .bind.source = "/s", .bind.target = "/t" };

	step.origin = (struct step_origin){ ORIGIN_ARGUMENT, "--read" };
	expect(strncmp(explain(step, -ENOENT).why, "--read: '/s'", 12) == 0);
	step.origin = (struct step_origin){ ORIGIN_TEMPLATE, "code-executor" };
	expect(strncmp(explain(step, -ENOENT).why, "template 'code-executor': '/s'", 30) == 0);
	step.origin = (struct step_origin){ ORIGIN_BUILT_IN, NULL };
	expect(strncmp(explain(step, -ENOENT).why, "'/s'", 4) == 0);
}

static void namespaces_that_are_refused_are_told_by_the_host(void)
{
	struct step step = { .kind = STEP_NAMESPACES };
	struct sbx_error err = explain(step, -EPERM);

	expect_eq(err.code, -EPERM);
	expect(err.what[0] != '\0' && err.why[0] != '\0' && err.fix[0] != '\0');
}

static void every_step_has_words_for_any_errno(void)
{
	static const int codes[] = { -EPERM, -ENOSYS, -EINVAL, -EIO, -ENOENT, -ENOSPC, -EXDEV };

	for (int kind = 0; kind < N_STEP_KINDS; kind++) {
		for (size_t i = 0; i < N_ELEMENTS(codes); i++) {
			struct step step = step_filled((enum step_kind)kind, "/x");
			struct sbx_error err = explain(step, codes[i]);

			expect_eq(err.code, codes[i]);
			expect(err.what[0] != '\0' && !strchr(err.what, '{'));
			expect(err.why[0] != '\0' && !strchr(err.why, '{'));
			expect(!strchr(err.fix, '{'));
			/* A field that this kind of step does not have. */
			expect(!strstr(err.what, "''"));
			expect(!step_target(&step) || !strstr(err.why, "''"));
		}
	}
}

static void a_path_that_looks_like_a_field_stays_as_it_is(void)
{
	struct step step = { .kind = STEP_BIND,
			     .bind.source = "/{target}/%s",
			     .bind.target = "/t" };

	expect_str(
		explain(step, -ENOENT).why,
		"'/{target}/%s' does not exist: it was removed after the plan was made, or it is a "
		"device that /dev lacks");
}

static void a_failure_without_a_step_is_an_error_too(void)
{
	static const struct kernel_failure failures[] = { { KERNEL_NO_STEP, -ENOMEM },
							  { 1, -EPERM } };
	struct step step = { .kind = STEP_EXEC };
	const struct plan plan = { .steps = &step, .n_steps = 1 };

	for (size_t i = 0; i < N_ELEMENTS(failures); i++) {
		struct sbx_error err = { 0 };

		kernel_explain(&plan, &failures[i], &err);
		expect_eq(err.code, failures[i].code);
		expect_str(err.what, "cannot build the sandbox");
	}
}

static void a_code_that_is_none_is_still_a_failure(void)
{
	static const int codes[] = { 0, 7, -100000 };

	for (size_t i = 0; i < N_ELEMENTS(codes); i++)
		expect_eq(explain((struct step){ .kind = STEP_PIVOT }, codes[i]).code, -EIO);
}

static const struct test tests[] = {
	TEST(says_what_failed_why_and_what_to_change),
	TEST(the_same_errno_means_what_the_step_makes_of_it),
	TEST(flags_of_the_step_may_matter),
	TEST(says_where_else_changes_could_land),
	TEST(tells_where_a_step_comes_from),
	TEST(namespaces_that_are_refused_are_told_by_the_host),
	TEST(every_step_has_words_for_any_errno),
	TEST(a_path_that_looks_like_a_field_stays_as_it_is),
	TEST(a_failure_without_a_step_is_an_error_too),
	TEST(a_code_that_is_none_is_still_a_failure),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
