#!/bin/sh
# concurrent.sh: prints the packages of the library and its programs whose code or tests start
# goroutines, hold locks or run tests in parallel. The other packages cannot have a data race of their own.
set -eu

cd "$(dirname "$0")/.."
find . -name '*.go' ! -path './build/*' ! -path './contrib/*' ! -path './internal/lab/bench/*' \
	! -path './internal/lab/virtualpeers/*' ! -path './internal/lab/proxies/*' -exec \
	grep -lE '^[[:space:]]*go [a-zA-Z]|"sync|"testing/synctest"|\.Parallel\(|virtualtime\.Run' {} + |
	sed 's|/[^/]*$||' | sort -u
