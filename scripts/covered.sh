#!/bin/sh
# covered.sh: prints the packages that make cover counts, separated by commas: the packages that
# users import, and the packages of the library that those import. Packages that import testing are
# helpers of tests, and are not counted.
set -eu

GO=${GO:-go}
cd "$(dirname "$0")/.."
export GOWORK=off # the library alone is the main module
users=$("$GO" list ./... | grep -v /internal/)
ours='{{if .GoFiles}}{{with .Module}}{{if .Main}}{{$.ImportPath}} {{join $.Imports " "}}{{end}}{{end}}{{end}}'
# shellcheck disable=SC2086 # split the list into packages
"$GO" list -deps -f "$ours" $users | awk '! / testing( |$)/ { print $1 }' | paste -s -d , -
