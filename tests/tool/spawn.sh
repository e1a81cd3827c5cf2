# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For tests of sbx-spawn: each behaviour is tested for each user who can start it.
#
#   for who in $starters; do ... run spawn ARGUMENT... ; check "..._by_$who" ... ; done
#
# $starters is "user root", or "user" if the tests do not run as root. spawn starts sbx-spawn as $who in $project,
# which belongs to that user at that time.

for name in "${!SBX_@}"; do
	case $name in SBX_SOURCE | SBX_BUILD) ;; *) unset "$name" ;; esac
done
user=1000
# shellcheck disable=SC2034 # for tests that source this
starters=user
# shellcheck disable=SC2034
[ "$EUID" -eq 0 ] && starters='user root'
who=user
# In memory, and accessible to an ordinary user.
chmod 755 "$work"
project=$work/project
mkdir "$project"

as() { # WHO COMMAND...
	local whom=$1
	shift
	if [ "$whom" = user ] && [ "$EUID" -eq 0 ]; then
		setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
	else
		"$@"
	fi
}

# The directories of records and the registry. -f: the previous sandbox may still be removing files.
places() {
	local owner=0
	if [ ! -d "$work/$who/state" ] || [ ! -d "$work/$who/run" ] || [ ! -d "$work/$who/home" ]; then
		mkdir -p "$work/$who/state" "$work/$who/run" "$work/$who/home"
		chmod 700 "$work/$who/run"
	fi
	[ "$who" = user ] && owner=$user
	[ "$EUID" -ne 0 ] || chown -Rf "$owner:$owner" "$work/$who" "$project"
	export HOME="$work/$who/home" XDG_STATE_HOME="$work/$who/state" XDG_RUNTIME_DIR="$work/$who/run"
}

# Starts in the existing directories. Concurrent sandboxes start like this, because changing owners would race with
# what the others rename and remove.
begin_spawn() { (cd "$project" && as "$who" sbx-spawn "$@"); }

spawn() {
	places
	begin_spawn "$@"
}

# Writes $work/p.yaml: a policy that permits to run the system's programs, and nothing else.
programs_policy() {
	cat >"$work/p.yaml" <<'END'
version: 1
capabilities:
  - {name: system, match: {op: [fs.read, fs.list, fs.exists], path: [/usr, /bin, /lib, /lib64, /etc]}, action: allow}
  - {name: programs, match: {op: exec, path: [/usr/bin, /usr/lib, /bin]}, action: allow}
END
	chmod 644 "$work/p.yaml"
}
