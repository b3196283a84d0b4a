#!/bin/sh
# bench-module.sh COMMAND…: runs a command in internal/bench, which is a module
# of its own so that the clients it compares stay out of the library's go.mod.
set -eu

cd "$(dirname "$0")/../internal/bench"
exec "$@"
