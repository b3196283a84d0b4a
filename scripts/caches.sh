#!/bin/sh
# caches.sh: compares the caches of several clients. It measures them with each server that servers.sh
# finds (SERVERS='system redis-8.6' selects some) and prints a table of all servers measured.
# The output of each run stays in build/servers.
set -eu

cd "$(dirname "$0")/.."
scripts/servers.sh ./internal/lab/bench/caching -timeout 10m -run '^$' -bench . -benchtime 1x >build/servers/caches || {
	cat build/servers/caches
	exit 1
}
awk '
	function of(unit, i) {
		for (i = 3; i < NF; i++) if ($(i + 1) == unit) return $i
		return ""
	}
	/^Benchmark.*\// {
		split($1, name, "/")
		client = name[2]
		sub(/-[0-9]*$/, "", client)
		server = FILENAME
		sub(/.*\//, "", server)
		sub(/[.]log$/, "", server)
		sub(/-/, " ", server)
		at = server SUBSEP client
		if (!(at in seen)) { seen[at] = 1; order[++rows] = at }
		if (of("stale") != "") stale[at] = of("stale")
		if (of("p50-ms") != "") others[at] = sprintf("%.2f / %.1f ms", of("p50-ms"), of("p99.9-ms"))
		if (of("null-s") != "") null[at] = late(of("null-s"))
		if (of("old-s") != "") old[at] = late(of("old-s"))
		if (of("MiB") != "") held[at] = sprintf("%.1f MiB", of("MiB"))
	}
	function late(s) { return s >= 15 ? "> 15 s" : sprintf("%.2f s", s) }
	END {
		print "| server | client | stale | seen after, p50 / p99.9 | moved null | black hole | 16 MiB take |"
		print "|---|---|---:|---:|---:|---:|---:|"
		for (i = 1; i <= rows; i++) {
			at = order[i]
			split(at, part, SUBSEP)
			printf "| %s | %s | %s | %s | %s | %s | %s |\n", part[1], part[2], stale[at], others[at], \
				at in null ? null[at] : "–", old[at], held[at]
		}
	}' $(grep -l '^BenchmarkOwnWrites/' build/servers/*.log)
