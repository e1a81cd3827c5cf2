#!/bin/sh
# SPDX-License-Identifier: MIT
# compile.sh ROOT INPUT OUTPUT CLANG [FLAG...]
#
# Compiles in the source directory with relative names, so that the object does not contain the path of the build, and
# clang finds the source lines that it stores for messages of the verifier (it looks for them under the recorded
# name).
set -eu
root=$(realpath "$1")
input=$(realpath "$2")
output=$(realpath -m "$3")
shift 3
cd "$root"
exec "$@" -c "${input#"$root"/}" -o "$output"
