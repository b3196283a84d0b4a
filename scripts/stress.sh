#!/bin/sh
# stress.sh RUNS PACKAGE [FLAGS OF THE TEST BINARY]: runs the tests of a package as if the machine
# were overloaded: beside two busy loops, on 1, 2 and 8 processors, and with the process stopped at
# random for up to a second. A test that fails here depends on the speed of the machine. The output
# of failed runs stays in build/stress.
#
#	scripts/stress.sh 5 ./redisconn -test.run Reconnect
set -eu

GO=${GO:-go}
cd "$(dirname "$0")/.."
runs=$1
package=$2
shift 2
kept=$PWD/build/stress
mkdir -p "$kept"
tests=$(mktemp)
busy=
trap 'kill -KILL $busy; rm -f "$tests"' EXIT
trap 'exit 1' HUP INT TERM
"$GO" -C "$package" test -c -o "$tests" .
for _ in 1 2; do
	while :; do :; done &
	busy="$busy $!"
done

# pause MILLISECONDS: sleeps for a random time, shorter than that.
pause() {
	ms=$(($(od -An -N2 -tu2 /dev/urandom) % $1))
	sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
}

# starve PID: stops and continues a process again and again, until the process ends or starve is killed.
starve() {
	while pause 2000 && kill -STOP "$1"; do
		pause 1000
		kill -CONT "$1"
	done 2>/dev/null
}

failed=0
cd "$package"
for run in $(seq "$runs"); do
	for procs in 1 2 8; do
		log=$kept/$(basename "$PWD")-$run-$procs.log
		GOMAXPROCS=$procs "$tests" -test.timeout=20m -test.parallel=8 "$@" >"$log" 2>&1 &
		process=$!
		starve $process &
		starving=$!
		busy="$busy $process $starving"
		if wait $process; then
			echo "run $run, GOMAXPROCS=$procs: passed"
			rm "$log"
		else
			failed=$((failed + 1))
			echo "run $run, GOMAXPROCS=$procs: FAILED, $log"
			grep -E '^ *--- FAIL|^panic:|DATA RACE' "$log" || tail -n 3 "$log"
		fi
		kill $starving
		busy=${busy%" $process $starving"}
	done
done
[ $failed = 0 ]
