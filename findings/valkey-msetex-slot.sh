#!/bin/sh
# Valkey 9.1.2, a cluster node that does not serve the slots of "foo" and "bar".
#
# It takes MSETEX for keys of slots that it does not serve, and for keys of two slots, where SET
# and MSET are refused. In a transaction beside a command whose keys are checked it does not run.
#
# Output seen:
#   SET: CLUSTERDOWN Hash slot not served
#   MSETEX: 1
#   MSETEX of two slots: 1
#   MSETEX and EXISTS between MULTI and EXEC: EXECABORT Transaction discarded because of previous errors.
#
# Wants redis-cli.
set -eu
server=$("$(dirname "$0")/../scripts/server.sh" valkey-9.1)
dir=$(mktemp -d)
port=17919
cli() { redis-cli -p $port "$@"; }
trap 'cli SHUTDOWN NOSAVE >/dev/null 2>&1 || :; rm -rf "$dir"' EXIT
"$server" --port $port --bind 127.0.0.1 --cluster-enabled yes --save '' --dir "$dir" \
	--cluster-require-full-coverage no --daemonize yes --logfile "$dir/log" >/dev/null
until cli PING >/dev/null 2>&1; do sleep 0.1; done
cli CLUSTER ADDSLOTSRANGE 0 100 >/dev/null
until cli CLUSTER INFO | grep -q cluster_state:ok; do sleep 0.1; done

failed=0
# expect WHAT PREFIX ANSWER
expect() {
	echo "$1: $3"
	case $3 in "$2"*) ;; *) failed=1 ;; esac
}
expect SET CLUSTERDOWN "$(cli SET foo 1)"
expect MSETEX 1 "$(cli MSETEX 1 foo 1 EX 100)"
expect 'MSETEX of two slots' 1 "$(cli MSETEX 2 foo 1 bar 2 EX 100)"
expect 'MSETEX and EXISTS between MULTI and EXEC' EXECABORT \
	"$(printf 'MULTI\nMSETEX 1 foo 1 EX 100\nEXISTS foo\nEXEC\n' | cli | grep -v '^$' | tail -n 1)"
exit $failed
