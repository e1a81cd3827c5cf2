# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For tests of sbx-spawn: every behaviour is shown for whoever may start it.
#
#   for who in $starters; do ... run spawn ARGUMENT... ; check "..._by_$who" ... ; done
#
# $starters is "user root", or "user" where we are not root. spawn starts it as $who, in $project, which belongs to them
# both in turn: to the one who starts it.

for name in "${!SBX_@}"; do
	case $name in SBX_SOURCE | SBX_BUILD) ;; *) unset "$name" ;; esac
done
user=1000
# shellcheck disable=SC2034 # for whoever sources this
starters=user
# shellcheck disable=SC2034
[ "$(id -u)" -eq 0 ] && starters='user root'
who=user
# In memory, and where an ordinary user may pass.
chmod 755 "$work"
project=$work/project
mkdir "$project"

as() { # WHO COMMAND...
	local whom=$1
	shift
	if [ "$whom" = user ] && [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
	else
		"$@"
	fi
}

# Where records and the registry go. What a sandbox before this one still takes away needs no owner: -f.
places() {
	mkdir -p "$work/$who/state" "$work/$who/run" "$work/$who/home"
	chmod 700 "$work/$who/run"
	if [ "$who" = user ] && [ "$(id -u)" -eq 0 ]; then
		chown -Rf "$user:$user" "$work/$who" "$project"
	elif [ "$(id -u)" -eq 0 ]; then
		chown -Rf 0:0 "$work/$who" "$project"
	fi
	export HOME="$work/$who/home" XDG_STATE_HOME="$work/$who/state" XDG_RUNTIME_DIR="$work/$who/run"
}

# In the places that are there. Whatever runs beside others starts like this: a change of owners would stumble over what
# the others rename and remove.
begin_spawn() { (cd "$project" && as "$who" sbx-spawn "$@"); }

spawn() {
	places
	begin_spawn "$@"
}

# A policy that lets the programs of the system run and nothing else be seen: $work/p.yaml.
programs_policy() {
	cat >"$work/p.yaml" <<'END'
version: 1
capabilities:
  - {name: system, match: {op: [fs.read, fs.list, fs.exists], path: [/usr, /bin, /lib, /lib64, /etc]}, action: allow}
  - {name: programs, match: {op: exec, path: [/usr/bin, /usr/lib, /bin]}, action: allow}
END
	chmod 644 "$work/p.yaml"
}
