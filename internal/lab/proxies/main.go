// Command proxies tries the library's features through real proxies, and with servers that only
// look like Redis, and prints the tables of docs/proxies.md. For comparison, it also tries other
// clients.
//
//	make proxies
//	make proxies LONG=5m
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	only := flag.String("only", "", "a regular expression: through these proxies only")
	long := flag.Duration("long", 0, "only kill, every 10 s for so long, through one proxy after the other")
	at := flag.String("at", "", "host:port: through the proxy or server that runs there, in place of the usual ones")
	valkey := flag.String("valkey", "valkey-server", "the server of Valkey")
	python := flag.String("python", "", "the directory of envoy, and of a python3 with fakeredis")
	flag.Parse()
	redis.SetLogger(quiet{})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, chosen(proxies(*python, *valkey), *at), *only, *long); err != nil {
		fmt.Fprintln(os.Stderr, "proxies:", err)
		os.Exit(1)
	}
}

// chosen returns all proxies or, if at is not empty, only the server or proxy that listens at that
// address.
func chosen(all []*proxy, at string) []*proxy {
	if at == "" {
		return all
	}
	return []*proxy{{name: at, serve: func() (string, func(), error) { return at, func() {}, nil }}}
}

// run fills the tables and prints them. Several proxies run at the same time, because most features
// spend most of their time waiting.
func run(ctx context.Context, all []*proxy, only string, long time.Duration) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	var through []*proxy
	for _, p := range all {
		if wanted.MatchString(p.name) {
			through = append(through, p)
		}
	}
	faults, atOnce := 30*time.Second, 4
	if long > 0 {
		faults, atOnce = long, 1
		clients = clients[:1]
		features = slices.DeleteFunc(features, func(f feature) bool { return !f.long })
		through = slices.DeleteFunc(through, func(p *proxy) bool { return p.behind == roles || p.behind == alone && !hasServers(p, clients[0]) })
	}
	tables := make([]*table, len(clients))
	for i, c := range clients {
		tables[i] = newTable(c.name, through)
	}
	var tries sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for _, p := range through {
		tries.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			for i, c := range clients {
				if err := try(ctx, p, c, faults, tables[i]); err != nil {
					fmt.Fprintln(os.Stderr, p.name, c.name, err)
				}
			}
		})
	}
	tries.Wait()
	fmt.Println(time.Now().Format("2 January 2006"))
	for _, t := range tables {
		t.print(os.Stdout)
	}
	return ctx.Err()
}

// try runs all features with one client through one proxy, which has its own servers.
func try(ctx context.Context, p *proxy, c kind, faults time.Duration, t *table) error {
	s, err := newStage(p)
	if err != nil {
		return err
	}
	defer s.close()
	for i, f := range features {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r := s.do(ctx, c, f, faults)
		t.set(p, i, r)
		fmt.Fprintf(os.Stderr, "%s, %s, %s: %s %s\n", p.name, c.name, f.name, r.text, r.detail)
	}
	return nil
}
