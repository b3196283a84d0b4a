#!/bin/sh
# fuzz.sh FUZZTIME PACKAGES…: runs each fuzz target of the packages for
# FUZZTIME (10s, or 50000x). Go saves an input that fails under testdata/fuzz of
# its package: commit it with the fix. Only this repository is compiled to report its coverage to the
# fuzzing engine. A plain go test -fuzz also recompiles the whole standard library for that, and the
# target runs slower.
set -eu

GO=${GO:-go}
fuzztime=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
out=$dir/out
found=$("$GO" env GOCACHE)/fuzz # where go test keeps the inputs that it finds
instrumented='github.com/joomcode/redispipe/...=-dwarf=false -d=libfuzzer'

# "package directory file…" for each package.
files='{{.ImportPath}} {{.Dir}}{{range .TestGoFiles}} {{.}}{{end}}{{range .XTestGoFiles}} {{.}}{{end}}'
"$GO" list -f "$files" "$@" >"$dir/packages"

# fuzz PACKAGE TARGET: fuzzes one target. Call it in the directory of the package.
fuzz() {
	"$dir/tests" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$fuzztime" \
		-test.fuzzminimizetime 20x -test.fuzzcachedir "$found/$1" \
		</dev/null >"$out" 2>&1
}

while read -r package where names; do
	[ -n "$names" ] || continue
	cd "$where"
	# shellcheck disable=SC2086 # split the list into file names
	targets=$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $names)
	[ -n "$targets" ] || continue
	"$GO" test -c -vet=off -ldflags='-s -w' -gcflags="$instrumented" -o "$dir/tests" .
	for target in $targets; do
		echo "--- $target ($package, $fuzztime)"
		if ! fuzz "$package" "$target"; then
			# The engine may run a little past its own deadline and report that as a
			# failure, without an input. Only such a failure is worth another try.
			if grep -q 'Failing input' "$out" || ! grep -q 'context deadline exceeded' "$out" ||
				! fuzz "$package" "$target"; then
				cat "$out"
				exit 1
			fi
		fi
		tail -n 2 "$out"
	done
done <"$dir/packages"
