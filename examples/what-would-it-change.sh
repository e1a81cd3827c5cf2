#!/bin/sh
# SPDX-License-Identifier: MIT
# Run an unknown script and see what it would change in this directory before anything is changed. Without arguments
# it runs an example.
set -eu

folder=$(mktemp -d)
trap 'chmod -R u+rwX "$folder"; rm -rf "$folder"' EXIT
if [ $# -eq 0 ]; then
	cd "$folder"
	mkdir project && cd project
	echo 'keep me' >settings
	printf '%s\n' '#!/bin/sh' 'echo changed >settings' 'echo "got in" >new-file' >install.sh
	set -- sh install.sh
fi

sbx-spawn --quiet --time 30s --out "$folder/changes" --report "$folder/report" -- "$@"

echo "it ended with $(sed 's/.*"status":\([0-9]*\).*/\1/' "$folder/report") and would change:"
(cd "$folder/changes" && find . -type f | sort)
