#!/bin/sh
# covered.sh: the packages that make cover counts, separated by commas: those that users
# import, and what these import of the library. Packages that import testing are helpers of
# tests, and are not counted.
set -eu

GO=${GO:-go}
cd "$(dirname "$0")/.."
export GOWORK=off # the library alone is the main module
users=$("$GO" list ./... | grep -v /internal/)
ours='{{if .GoFiles}}{{with .Module}}{{if .Main}}{{$.ImportPath}} {{join $.Imports " "}}{{end}}{{end}}{{end}}'
# shellcheck disable=SC2086 # the packages are words
"$GO" list -deps -f "$ours" $users | awk '! / testing( |$)/ { print $1 }' | paste -s -d , -
