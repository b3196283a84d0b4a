#!/bin/sh
# platforms.sh [PLATFORM…]: type-checks all packages and their tests for the
# platforms that the library is for: 64 and 32 bits, with and without the system
# calls it uses on Unix.
set -eu

GO=${GO:-go}
[ $# -gt 0 ] || set -- linux/amd64 linux/arm64 linux/386 linux/arm \
	darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

# go vet compiles the dependencies, the standard library included: half a minute
# for each new platform, and a fourth more with optimizations.
for platform in "$@"; do
	echo "vet $platform"
	CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} scripts/modules.sh ./... "$GO" vet -gcflags='all=-N -l'
done
