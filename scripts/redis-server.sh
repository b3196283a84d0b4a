#!/bin/sh
# Installs redis-server from the system's packages when it is missing.
# The tests start their own servers and do not use one that the package starts.
set -eu

command -v redis-server >/dev/null 2>&1 && exit 0

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null 2>&1; then
		sudo "$@"
	else
		echo "redis-server is missing; run as root: $*" >&2
		exit 1
	fi
}

say() { echo "redis-server is missing: installing it with $1" >&2; }

if command -v apt-get >/dev/null 2>&1; then
	say apt-get
	as_root apt-get update -q
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends redis-server
elif command -v dnf >/dev/null 2>&1; then
	say dnf
	# Fedora 41 and later have Valkey; a separate package has a link named redis-server.
	as_root dnf install -q -y redis || as_root dnf install -q -y valkey valkey-compat-redis
elif command -v apk >/dev/null 2>&1; then
	say apk
	as_root apk add --quiet redis
elif command -v pacman >/dev/null 2>&1; then
	say pacman
	as_root pacman -S --noconfirm --needed valkey
elif command -v brew >/dev/null 2>&1; then
	say brew
	brew install redis
fi </dev/null >&2

command -v redis-server >/dev/null 2>&1 || {
	echo "redis-server is not on PATH and could not be installed: see https://redis.io/docs/install" >&2
	exit 1
}
