#!/bin/sh
# contrib.sh COMMAND…: runs a command in each module under contrib, which are modules of
# their own so that what they build upon stays out of the library's go.mod.
set -eu

cd "$(dirname "$0")/../contrib"
for module in */; do
	(cd "$module" && "$@")
done
