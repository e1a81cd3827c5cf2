#!/bin/sh
# SPDX-License-Identifier: MIT
# Where does a setting come from? The project's file and the environment disagree.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

sbx-config set --where=project color never
sbx-config list
echo
SBX_COLOR=always sbx-config list
