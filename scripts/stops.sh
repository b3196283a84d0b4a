#!/bin/sh
# stops.sh DURATION: copies the tree and rewrites the packages of the request path, the cache, clusters and
# virtual connections so that a goroutine may stop before each of their statements. Then it checks the outcome
# of requests and jobs: none may get a wrong reply or another's, and none may run twice. It injects faults into a
# connection for DURATION, then into a cluster for DURATION, and last runs tests of the cache and of virtual
# connections. A goroutine stops before one of 1000 statements; with STOPS=400, before one of 400. The times that
# these tests print mean nothing.
set -eu

GO=${GO:-go}
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
git ls-files -z --cached --others --exclude-standard | xargs -0 tar cf - | tar xf - -C "$dir"
cd "$dir"
torture=internal/lab/torture
"$GO" run ./internal/lab/stops $("$GO" list -f '{{.Dir}}' \
	./redis ./redisconn/... ./rediscluster/... ./rediscache/... ./redisvirtual/... ./internal/send ./internal/resp ./internal/dial ./internal/sock)

"$GO" -C $torture run ./cmd/torture -duration "$1"
"$GO" -C $torture run ./cmd/torture -cluster -duration "$1"
"$GO" -C $torture test -count=1 -timeout 30m -run 'T24|T35|T41' .
"$GO" test -count=1 -timeout 30m -run 'NeverStale|Identities|LateReply|UnknownWrite|ConcurrentMisses' ./rediscache
"$GO" test -count=1 -timeout 30m -run 'Order|Random|AllAtOnce|Transaction|Shards|Changing|NoSocket|Unknown|NotSent' ./redisvirtual
