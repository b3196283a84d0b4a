#!/bin/sh
# progress.sh COMMAND…: runs go test and shows that it is at work before the first package has been
# tested: every five seconds it prints how many packages and test programs have been compiled. Packages
# that go finds in its cache are not counted.
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
