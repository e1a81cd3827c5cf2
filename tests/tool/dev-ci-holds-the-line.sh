#!/bin/bash
# SPDX-License-Identifier: MIT
# .ci/run with a stub of ./dev that only counts: which results must pass and which must fail.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

mkdir -p "$work/.ci" "$work/build/meson-logs" "$work/build-sanitize/meson-logs" "$work/build/vm"
cp "$SBX_SOURCE/.ci/run" "$work/.ci/run"
cat >"$work/dev" <<-'END'
	#!/bin/bash
	count() { echo '{"passed": 2, "failed": 0, "skipped": 1}' >"$1/counts.json"; }
	[ "$CI" = true ] || exit 9
	case "$* $BROKEN" in
	'vm vm') exit 2 ;;
	'lint lint' | 'build build' | 'build --sanitize sanitized-build') exit 1 ;;
	'test test') echo 'failed: unit/clock: is_late' && exit 1 ;;
	'lint endless') read -r _ <"$PIPE" ;;
	'test --sanitize '*) count build-sanitize/meson-logs ;;
	'test '*) count build/meson-logs ;;
	'vm '*) count build/vm ;;
	esac
END
chmod +x "$work/dev"
mkfifo "$work/pipe"
ci() { # WHAT-IS-BROKEN
	run env BROKEN="$1" PIPE="$work/pipe" "$work/.ci/run"
	last=${out##*$'\n'}
}

ci nothing
check all_steps_succeed has_status 0
check the_last_line_adds_up_three_runs test "$last" = '6 passed, 0 failed, 3 skipped'

ci lint
check a_step_that_counts_nothing_fails_it has_status 1
check a_step_that_counts_nothing_is_counted test "$last" = '6 passed, 1 failed, 3 skipped'

for step in build sanitized-build vm; do
	ci "$step"
	check "a_failure_of_${step}_fails_it" has_status 1
	check "a_failure_of_${step}_is_named" out_has "failed: $step"
done

ci test
check failures_are_repeated_at_the_end test "$(grep -c 'failed: unit/clock: is_late' <<<"$out")" -eq 2
check it_is_said_at_the_end test "$(tail -n 3 <<<"$out" | head -n 1)" = 'failed: unit/clock: is_late'
check so_is_the_step test "$(tail -n 2 <<<"$out" | head -n 1)" = 'failed: test'

# A run must not use the counts of the previous one.
ci vm
check a_former_count_is_not_counted test "$last" = '4 passed, 2 failed, 2 skipped'
check a_run_without_a_count_fails_it has_status 1

sed -i 's/^limit=4800/limit=1/' "$work/.ci/run"
ci endless
check a_run_that_takes_too_long_fails_it has_status 1
check a_run_that_takes_too_long_says_so out_has 'no time is left of 1 s'
finish
