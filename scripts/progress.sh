#!/bin/sh
# progress.sh COMMAND…: runs go test, which says nothing before the first package is tested, and
# prints what it has done by then: every five seconds the packages that are compiled (what go finds in
# its cache is not counted), and the test programs.
set -eu

mkdir -p build
echo '*' >build/.gitignore
GOTMPDIR=$(mktemp -d "$PWD/build/_tmp.XXXXXX")
export GOTMPDIR

show() {
	before=
	seconds=0
	while sleep 5; do
		seconds=$((seconds + 5))
		packages=$(find "$GOTMPDIR" -mindepth 2 -maxdepth 2 -type d -name 'b[0-9]*' 2>/dev/null | wc -l)
		programs=$(find "$GOTMPDIR" -mindepth 3 -maxdepth 3 -name '*.test' 2>/dev/null | wc -l)
		now="$((packages)) packages and $((programs)) test programs"
		[ "$now" = "$before" ] || echo "compiled after $seconds s: $now" >&2
		before=$now
	done
}

show &
shower=$!
trap 'kill $shower 2>/dev/null || :; rm -rf "$GOTMPDIR"' EXIT
trap 'exit 130' INT TERM
"$@"
