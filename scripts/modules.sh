#!/bin/sh
# modules.sh PACKAGES COMMAND…: runs a command in each module that has some of the packages,
# with these behind it, as modules.sh './redis ./internal/lab/torture' go vet does.
#
# modules.sh -work PACKAGES COMMAND…: runs it once, with the packages of all these modules, in a
# workspace of them: go test then compiles what they share once, and runs their tests side by side.
#
# The library is a module, and so is each of its programs, which nobody else needs to compile,
# and whatever has requirements of its own. ./... are the packages of the library and its
# programs; those of the others have to be named.
set -euf # nothing is to be expanded

cd "$(dirname "$0")/.."
work=
if [ "$1" = -work ]; then
	work=$PWD/build/go.work
	shift
	mkdir -p build
	echo '*' >build/.gitignore
	grep '^go ' go.mod >"$work"
	echo 'use ..' >>"$work"
fi
programs="internal/lab/torture internal/lab/oracle internal/lab/quickstart"
others="internal/lab/bench internal/lab/virtualpeers internal/lab/proxies contrib/rediscasbin contrib/redisdebug contrib/redisfiber contrib/redisgin contrib/redisgocache contrib/redisotel contrib/redisprom contrib/redisrecipes contrib/redisscs contrib/redissessions contrib/redistoken contrib/rediswatermill"
patterns=$1
code=0
shift

# of MODULE PATTERN: what the pattern is in the module. Nothing, if no package of it is there.
of() {
	case $2/ in
	"$1"/*) echo ".${2#"$1"}" ;;
	.../) case " $programs " in *" $1 "*) echo ./... ;; esac ;;
	*/.../) case $1/ in "${2%...}"*) echo ./... ;; esac ;;
	esac
}

# ofLibrary PATTERN: the pattern, if packages of the library are in it.
ofLibrary() {
	for nested in $programs $others contrib; do
		case $1/ in "$nested"/*) return ;; esac
	done
	echo "./$1"
}

all=
for module in $programs . $others; do
	packages=
	for pattern in $patterns; do
		pattern=${pattern#./}
		pattern=${pattern%/}
		case $module in
		.) packages="$packages $(ofLibrary "$pattern")" ;;
		*) packages="$packages $(of "$module" "$pattern")" ;;
		esac
	done
	packages=$(echo $packages)
	if [ -z "$packages" ]; then
		continue
	elif [ -z "$work" ]; then
		(cd "$module" && "$@" $packages) || code=1
		continue
	fi
	if [ "$module" = . ]; then
		all="$all $packages"
		continue
	fi
	echo "use ../$module" >>"$work"
	for package in $packages; do
		all="$all ./$module/${package#./}"
	done
done
[ -z "$all" ] || GOWORK=$work "$@" $all || code=1
exit $code
