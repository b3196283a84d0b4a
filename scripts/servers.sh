#!/bin/sh
# servers.sh PACKAGES [FLAGS]: runs go test with each available server, and prints a
# table. The servers are the system's redis-server and those that server.sh lists;
# SERVERS="system redis-8.6" selects some. The output of each run stays in
# build/servers.
set -eu

GO=${GO:-go}
dir=build/servers
mkdir -p "$dir"
table=$dir/table.md
printf '| server | passed | failed | skipped, whole or in part | since the server lacks |\n|---|---:|---:|---:|---|\n' >"$table"
failures=$dir/failures
: >"$failures"

# with BINARY PACKAGES [FLAGS]: runs the tests, and adds the binary's row to the table.
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
	# A package can also fail without a failed test: it does not build, or leaks goroutines.
	[ "$failed" != 0 ] || failed=$(grep -c '^FAIL	' "$log" || :)
	[ "$code" = 0 ] || grep -E '^ *--- FAIL|^FAIL	' "$log" | sed "s/^/$name: /" >>"$failures"
	lacks=$(sed -n 's/.*: the server lacks \([^:]*\).*/\1/p' "$log" | sort | uniq -c |
		awk '{ n = $1; $1 = ""; printf "%s%s (%d)", sep, substr($0, 2), n; sep = ", " }')
	echo "| $name | $passed | $failed | $skipped | ${lacks:-nothing} |" >>"$table"
}

for server in ${SERVERS:-system $(scripts/server.sh)}; do
	if [ "$server" = system ]; then
		with "$(command -v redis-server)" "$@"
	elif binary=$(scripts/server.sh "$server"); then
		with "$binary" "$@"
	else
		echo "--- $server: it can't be had" >&2
	fi
done
cat "$table" "$failures"
[ ! -s "$failures" ]
