#!/bin/sh
# modules.sh PACKAGES COMMAND…: runs a command in each module that has some of the packages, and
# appends the packages of that module to the command. For example:
# modules.sh './redis ./internal/lab/torture' go vet
#
# modules.sh -work PACKAGES COMMAND…: runs the command once, with the packages of all these modules, in
# a workspace of the modules. So go test compiles shared packages once, and runs all tests side by side.
#
# The library is one module. Each of its programs is another, because users of the library need not
# compile it, and so is everything with requirements of its own. ./... means the packages of the
# library and of its programs; packages of other modules have to be named.
set -euf # -f: patterns such as ./... must not be expanded to file names

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

# of MODULE PATTERN: prints the pattern as it is written inside the module, or nothing if the module
# has none of its packages.
of() {
	case $2/ in
	"$1"/*) echo ".${2#"$1"}" ;;
	.../) case " $programs " in *" $1 "*) echo ./... ;; esac ;;
	*/.../) case $1/ in "${2%...}"*) echo ./... ;; esac ;;
	esac
}

# ofLibrary PATTERN: prints the pattern if it includes packages of the library.
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
