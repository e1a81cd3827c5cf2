#!/bin/sh
# SPDX-License-Identifier: MIT
# compile.sh ROOT INPUT OUTPUT CLANG [FLAG...]
#
# Compiles from the top of the sources, with names below it: so no place of a build gets into the object, and clang
# finds the lines of source that it stores for the verifier's messages (it looks for them under the recorded name).
set -eu
root=$(realpath "$1")
input=$(realpath "$2")
output=$(realpath -m "$3")
shift 3
cd "$root"
exec "$@" -c "${input#"$root"/}" -o "$output"
