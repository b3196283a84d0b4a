// Command redischaos breaks the network between any client and a Redis server, for services in any
// language. It passes everything on until a command tells it otherwise. Commands come from its
// arguments, from its standard input, or over HTTP.
//
//	redischaos -listen 127.0.0.1:6380 -to 127.0.0.1:6379 -http 127.0.0.1:8380
//	> freeze
//	> heal
//	curl -d 'slow 10 100ms' 127.0.0.1:8380
//
// The commands are those of `redischaos -help`. It ends on SIGINT and SIGTERM.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/joomcode/redispipe/redistest/chaos"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "redischaos:", err)
		os.Exit(1)
	}
}

// run is the program. It ends when ctx is done.
func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("redischaos", flag.ContinueOnError)
	flags.SetOutput(out)
	listen := flags.String("listen", "127.0.0.1:6380", "address for the clients")
	to := flags.String("to", "127.0.0.1:6379", "address of the server")
	control := flags.String("http", "", "address for commands over HTTP: POST one, GET the counters; it asks for no password")
	seed := flags.Int64("seed", 0, "seed of what is random")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: redischaos [flags] [command, such as freeze or 'slow 10 100ms']…")
		flags.PrintDefaults()
		fmt.Fprint(flags.Output(), "commands:\n", usage)
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	proxy, err := chaos.ListenProxy(*to, chaos.ProxyOpts{Addr: *listen, Seed: *seed, LogLimit: -1})
	if err != nil {
		return err
	}
	defer proxy.Close()
	c := &console{proxy: proxy, out: log.New(out, "", 0)}
	c.out.Printf("%s in front of %s", proxy.Addr(), *to)
	for _, command := range flags.Args() {
		if err := c.obey(command); err != nil {
			return err
		}
	}
	if *control != "" {
		end, err := c.serve(*control)
		if err != nil {
			return err
		}
		defer end()
	}
	go c.read(in)
	<-ctx.Done()
	return nil
}

// console executes commands for a proxy.
type console struct {
	proxy *chaos.Proxy
	out   *log.Logger
}

// obey executes a command and prints its answer.
func (c *console) obey(command string) error {
	answer, err := do(c.proxy, command)
	if err == nil {
		c.out.Printf("%s", answer)
	}
	return err
}

// read is the goroutine of the standard input, which run starts. It ends with the input, or with
// the process.
func (c *console) read(in io.Reader) {
	for line := bufio.NewScanner(in); line.Scan(); {
		if strings.TrimSpace(line.Text()) == "" {
			continue
		}
		if err := c.obey(line.Text()); err != nil {
			c.out.Printf("error: %v", err)
		}
	}
}

// serve takes commands over HTTP until end is called.
func (c *console) serve(addr string) (end func(), err error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	c.out.Printf("commands at http://%s", l.Addr())
	server := &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second}
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(l) })
	return func() {
		_ = server.Close()
		wg.Wait()
	}, nil
}

// ServeHTTP takes a command as the body of a POST, and answers a GET with the counters.
func (c *console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	command := "stats"
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4096))
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		command = string(body)
	}
	answer, err := do(c.proxy, command)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintln(w, answer)
}
