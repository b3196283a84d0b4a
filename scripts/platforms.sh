#!/bin/sh
# Type-checks all packages and their tests for every platform that the library
# is for: 64 and 32 bits, with and without the system calls it uses on Unix.
# go vet compiles the dependencies too, so the first run takes minutes.
set -eu

GO=${GO:-go}
for platform in linux/amd64 linux/arm64 linux/386 linux/arm \
	darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do
	echo "vet $platform"
	CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} "$GO" vet ./...
done
