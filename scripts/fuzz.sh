#!/bin/sh
# fuzz.sh FUZZTIME PACKAGES…: runs each fuzz target of the packages for
# FUZZTIME (10s, or 50000x). An input that fails is kept under testdata/fuzz of
# its package: commit it with the fix.
set -eu

GO=${GO:-go}
fuzztime=$1
shift
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# "package directory file" for each test file.
files='{{range .TestGoFiles}}{{$.ImportPath}} {{$.Dir}} {{.}}
{{end}}{{range .XTestGoFiles}}{{$.ImportPath}} {{$.Dir}} {{.}}
{{end}}'
targets=$("$GO" list -f "$files" "$@" | while read -r pkg dir file; do
	[ -n "$file" ] || continue
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$dir/$file" | sed "s|^|$pkg |"
done)

[ -n "$targets" ] || exit 0

fuzz() { "$GO" test -run '^$' -fuzz "^$2\$" -fuzztime "$fuzztime" "$1" </dev/null >"$out" 2>&1; }

echo "$targets" | while read -r pkg target; do
	echo "--- $target ($pkg, $fuzztime)"
	if ! fuzz "$pkg" "$target"; then
		# The engine may miss its own deadline by a little and call that a
		# failure, with no input to blame. Only then is another try fair.
		if grep -q 'Failing input' "$out" || ! grep -q 'context deadline exceeded' "$out" ||
			! fuzz "$pkg" "$target"; then
			cat "$out"
			exit 1
		fi
	fi
	tail -n 3 "$out"
done
