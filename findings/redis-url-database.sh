#!/bin/sh
# go-redis 9.23.0, rueidis 1.0.79 and redigo 1.9.3 of Go, ioredis 5.11.1 and redis 6.3.1 of npm, redis-py 8.1.0; redis-server.
#
# One URL leads to different databases, without an error. redigo and redis of npm do not look at "?db=3", which the others take,
# and use database 0. Of a path and a parameter, "/3?db=4", the parameter counts for some, and the path for others.
#
# Output seen:
#   ?db=3: go-redis 3, rueidis 3, redigo 0, ioredis 3, node-redis 0, redis-py 3
#   /3?db=4: go-redis 4, rueidis 4, redigo 3, ioredis 3, node-redis 3, redis-py 4
#
# Wants go, redis-server and redis-cli, node with npm, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
npm ioredis@5.11.1 redis@6.3.1
pip redis==8.1.0
redis 17931
cat >main.go <<'END'
package main

import (
	"context"
	"fmt"
	"os"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx, url, info := context.Background(), os.Args[1], []string{}
	goOpts, err := redis.ParseURL(url)
	must(err)
	got, err := redis.NewClient(goOpts).Do(ctx, "CLIENT", "INFO").Text()
	must(err)
	info = append(info, "go-redis "+got)
	opts, err := rueidis.ParseURL(url)
	must(err)
	client, err := rueidis.NewClient(opts)
	must(err)
	got, err = client.Do(ctx, client.B().ClientInfo().Build()).ToString()
	must(err)
	info = append(info, "rueidis "+got)
	conn, err := redigo.DialURL(url)
	must(err)
	got, err = redigo.String(conn.Do("CLIENT", "INFO"))
	must(err)
	for _, line := range append(info, "redigo "+got) {
		fmt.Print(line)
	}
}
END
cat >main.mjs <<'END'
import Redis from 'ioredis';
import {createClient} from 'redis';

const one = new Redis(process.argv[2]);
console.log('ioredis', await one.client('INFO'));
one.disconnect();
const other = await createClient({url: process.argv[2]}).connect();
console.log('node-redis', await other.sendCommand(['CLIENT', 'INFO']));
other.destroy();
END
build github.com/redis/go-redis/v9@v9.23.0 github.com/redis/rueidis@v1.0.79 github.com/gomodule/redigo@v1.9.3
failed=0
# expect TAIL WANT: the databases that the clients use for a URL with this tail.
expect() {
	url=redis://127.0.0.1:17931$1
	{
		./main "$url"
		node main.mjs "$url"
		python3 -c "from redis import from_url; print('redis-py db=%s' % from_url('$url').client_info()['db'])"
	} >clients
	got=$(sed -n 's/^\([a-z-]*\) \(.* \)\{0,1\}db=\([0-9]*\).*/\1 \3/p' clients | paste -sd, | sed 's/,/, /g')
	echo "$1: $got"
	[ "$got" = "$2" ] || failed=1
}
expect '?db=3' 'go-redis 3, rueidis 3, redigo 0, ioredis 3, node-redis 0, redis-py 3'
expect '/3?db=4' 'go-redis 4, rueidis 4, redigo 3, ioredis 3, node-redis 3, redis-py 4'
exit $failed
