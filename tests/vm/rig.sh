# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Shared by the scripts of the VM rig: messages, directories, and the host's apt configuration. Sourced; the caller
# sets $top to the project's directory.

release=bookworm

say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }

# refuse WHAT WHY FIX: the rig itself cannot continue, status 2; 1 is for failed tests.
refuse()
{
	printf '%s: %s\n  why: %s\n  fix: %s\n' "$(basename "$0")" "$1" "$2" "$3" >&2
	exit 2
}

cache_folder()
{
	cache=${SBX_CACHE:-${XDG_CACHE_HOME:-${HOME:-/var}/.cache}/sbx}/vm
	mkdir -p "$cache" || refuse "cannot keep images in '$cache'" 'the folder cannot be made' \
		'set SBX_CACHE to a folder that can be written'
	printf '%s\n' "$cache"
}

hash_of() { sha256sum | cut -c 1-16; }

# disk_of DIRECTORY FILE SIZE: a file system without a journal, for disks whose writes are discarded.
disk_of()
{
	truncate -s "$3" "$2"
	PATH=$PATH:/usr/sbin:/sbin mke2fs -q -t ext4 -O ^has_journal -m 0 -E root_owner=0:0 -d "$1" "$2"
}

# An interrupted build must not look complete: build in a temporary directory and rename it.
new_folder() { mktemp -d "$1.XXXXXX"; }

# Keeps only the newest few of a kind: changed package lists must not fill the disk.
forget_old()
{
	# shellcheck disable=SC2012 # the names are our own
	ls -dt "$1"-* 2>/dev/null | tail -n +4 | while read -r old; do rm -rf "$old"; done
}

# The archive that the host's apt uses, as lines of a sources.list; $1 is a codename or an awk pattern. The project
# itself names no package server.
debian_sources()
{
	# shellcheck disable=SC2016 # the words in $() are apt's
	apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT) $(CODENAME)' \
		'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
		awk -v wanted="^($1)\$" '$NF ~ wanted { print $1, $2, $3, $4 }' | sort -u
}

need_sources()
{
	[ -n "$(debian_sources "$release")" ] || refuse "cannot find the archive of Debian '$release'" \
		"no list that this host's apt has fetched is of that release" \
		"add it to apt's sources and run 'apt-get update'"
}

# How the host's apt reaches the archive (a proxy, a snapshot), as lines of an apt.conf.
apt_settings()
{
	apt-config dump |
		grep -E '^Acquire::((https?|ftp)::.*Proxy|Retries|ForceIPv|Check-(Valid-Until|Date))' || :
}
