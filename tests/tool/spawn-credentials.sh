#!/bin/bash
# SPDX-License-Identifier: MIT
# Credentials are not exposed accidentally: each credential file with each way to grant a directory that contains it.
# A command inside tries to read all of them; the ones that it could read are the row of the table.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

# FILE:ENTRY
credentials=(.ssh/id:.ssh .gnupg/key:.gnupg .aws/credentials:.aws .config/gh/hosts.yml:.config/gh .kube/config:.kube
	.docker/config.json:.docker .netrc:.netrc .npmrc:.npmrc .git-credentials:.git-credentials
	.config/git/credentials:.config/git/credentials .cargo/credentials.toml:.cargo/credentials.toml .mozilla/p/key4.db:.mozilla
	.local/share/keyrings/login:.local/share/keyrings .password-store/x.gpg:.password-store .bash_history:.bash_history
	.psql_history:.psql_history)

# Creates a home with all credentials, and a project in it with files of the same names.
make_home() {
	places
	export HOME=$work/$who/people/me
	mkdir -p "$HOME/p"
	for one in "${credentials[@]}"; do
		for top in "$HOME" "$HOME/p"; do
			mkdir -p "$top/$(dirname "${one%:*}")"
			echo secret >"$top/${one%:*}"
		done
	done
	echo secret >"$HOME/.ssh/other"
	echo plain >"$HOME/plain"
	chown -R "$(stat -c %u:%g "$project")" "$work/$who"
}

# Prints which files below TOP can be read; the shell reads a line itself, without a process for each file.
cat >"$work/try" <<'END'
reads() { { read -r line || :; } <"$1"; } # an empty file, too
cd / && for file in plain .ssh/other FILES; do reads "$1/$file" 2>/dev/null && echo "+$file+"; done
for file in FILES; do reads "$1/p/$file" 2>/dev/null && echo "+p/$file+"; done
true
END
sed -i "s|FILES|$(printf '%s ' "${credentials[@]%:*}")|" "$work/try"
chmod 644 "$work/try"
try() { # DIRECTORY TOP OPTION...
	local directory=$1 top=$2
	shift 2
	run start_in "$directory" "$@" --read "$work/try" -- sh "$work/try" "$top"
}
start_in() { (cd "$1" && shift && as "$who" sbx-spawn "$@"); }
reads() { out_has "+$1+"; }
reads_not() { has_status 0 && ! out_has "+$1+"; }

path=$PATH
for who in $starters; do
	make_home
	home=$HOME
	run as "$who" sh "$work/try" "$home"
	for one in "${credentials[@]}"; do
		check "outside_${one%:*}_is_read_by_$who" reads "${one%:*}"
	done

	# Grants that contain credentials without naming them.
	while read -r way directory top options; do
		# shellcheck disable=SC2086 # words
		try "$directory" "$top" $options
		for one in "${credentials[@]}"; do
			check "${way}_does_not_show_${one%:*}_to_$who" reads_not "${one%:*}"
			check "${way}_shows_p/${one%:*}_of_a_project_to_$who" reads "p/${one%:*}"
		done
		check "${way}_shows_the_rest_to_$who" reads plain
	done <<-END
		working_directory $home $home
		read_home / $home --read $home
		read_parent / $home --read $work/$who/people
		write_home / $home --write $home
		write_parent / $home --write $work/$who/people
		bind_home / /x --bind $home:/x
		bind_home_writable / /x/y --bind $home:/x/y:rw
		bind_parent / /x/me --bind $work/$who/people:/x
		out_of_home $home $home --out $work/$who/changes
	END
	rm -rf "$work/$who/changes"

	# Grants that name a credential.
	for one in "${credentials[@]}"; do
		file=${one%:*} entry=${one#*:}
		try / "$home" --read "$home" --read "$home/$entry"
		check "read_entry_shows_${file}_to_$who" reads "$file"
		try / "$home" --write "$home" --read "$home/$file"
		check "read_file_shows_${file}_to_$who" reads "$file"
		[ "$entry" = .ssh ] && check "read_of_a_file_does_not_show_its_neighbour_to_$who" reads_not .ssh/other
		[ "$entry" = .ssh ] || check "read_file_does_not_show_.ssh/id_beside_${file}_to_$who" reads_not .ssh/id
		[ -d "$home/$entry" ] || continue
		# A directory in PATH is shown without an option, which names no credential.
		for directory in "$home/$entry" "$(dirname "$home/$file")"; do
			PATH=$directory:$path try / "$home"
			check "path_in_${directory#"$home/"}_does_not_show_${file}_to_$who" reads_not "$file"
		done
		PATH=$home/$entry:$path try / "$home" --read "$home/$entry"
		check "path_and_read_in_${entry}_show_${file}_to_$who" reads "$file"
		try "$home/$entry" "$home"
		check "working_directory_in_${entry}_shows_${file}_to_$who" reads "$file"
	done

	# An allow rule shows the file.
	programs_policy
	echo "  - {name: home, match: {op: 'fs.*', path: '$home'}, action: allow}" >>"$work/p.yaml"
	try / "$home" --policy "$work/p.yaml"
	for one in "${credentials[@]}"; do
		check "a_rule_shows_${one%:*}_to_$who" reads "${one%:*}"
	done

	# The notice appears once on a terminal, and always in the plan.
	run start_in "$home" -- true
	check "nothing_is_said_without_a_terminal_to_$who" err_is ''
	run start_in "$home" -v -- true
	check "one_line_names_the_hidden_credentials_to_$who" test "$(grep -c 'not shown: ~/.aws' "$work/err")" -eq 1
	run start_in "$home" --print-plan -v -- true
	check "the_plan_has_a_mask_for_$who" out_has "mask $home/.ssh directory  # credentials"
	run as "$who" sbx-policy explain "$work/p.yaml" fs.read "$home/.ssh/id"
	check "explain_says_it_to_$who" out_has "'$home/.ssh' is in the list of credentials"
done
finish
