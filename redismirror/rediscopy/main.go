// Command rediscopy copies keys from one database to another, with their times to live, and then compares
// them:
//
//	rediscopy -from redis://old:6379 -to redis-cluster://new1:7000,new2:7000 -match 'user:*'
//
// It copies keys that are different afterwards again, up to -rounds times; a key may be different because it
// was written during the copy. With -check it only compares. It prints the keys that are different. To find
// keys that only the second database has, exchange -from and -to and add -check. It exits with 0 if no key is
// different, with 1 if some keys are, and with 2 after an error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redismirror"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if code := exitCode(err); code != 0 {
		fmt.Fprintln(os.Stderr, "rediscopy:", err)
		os.Exit(code)
	}
}

// different is the error of a run that has found different keys. Its value is their number.
type different int

func (n different) Error() string { return fmt.Sprintf("%d keys are different", int(n)) }

// exitCode returns the exit code of a run, with the same meaning as for the program diff.
func exitCode(err error) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, new(different)):
		return 1
	}
	return 2
}

// batch is how many keys are copied or compared at once.
const batch = 64

// copier is a run of the program.
type copier struct {
	from, to *redispipe.Client
	match    string
	out      io.Writer
}

// run is the program.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("rediscopy", flag.ContinueOnError)
	flags.SetOutput(out)
	from := flags.String("from", "", "URL of the database to copy from, as for redispipe.Open")
	to := flags.String("to", "", "URL of the database to copy to")
	match := flags.String("match", "", "pattern of the keys, as for SCAN; default: all")
	check := flags.Bool("check", false, "compare only")
	rounds := flags.Int("rounds", 3, "how often a key that is different is copied again")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: all arguments are flags", flags.Arg(0))
	}
	if *rounds < 0 {
		return fmt.Errorf("-rounds must not be negative: %d", *rounds)
	}
	if *from == *to {
		return errors.New("-from and -to are the same")
	}
	c := copier{match: *match, out: out}
	for _, side := range []struct {
		name, url string
		client    **redispipe.Client
	}{{"-from", *from, &c.from}, {"-to", *to, &c.to}} {
		client, err := redispipe.Open(ctx, side.url, redispipe.Logger(nil))
		if err != nil {
			return fmt.Errorf("%s: %w", side.name, err)
		}
		defer client.Close()
		*side.client = client
	}
	if !*check {
		n, err := c.each(ctx, func(keys []string) error { return redismirror.CopyKeys(ctx, c.from, c.to, keys) })
		fmt.Fprintf(out, "%d keys copied\n", n)
		if err != nil {
			return err
		}
	} else {
		*rounds = 0
	}
	return c.compare(ctx, *rounds)
}

// compare compares the keys, and copies those that are different again.
func (c *copier) compare(ctx context.Context, rounds int) error {
	found := 0
	n, err := c.each(ctx, func(keys []string) error {
		for round := 0; ; round++ {
			left, err := redismirror.Compare(ctx, c.from, c.to, keys)
			if err != nil {
				return err
			}
			if keys = left; len(keys) == 0 || round >= rounds {
				break
			}
			if err := redismirror.CopyKeys(ctx, c.from, c.to, keys); err != nil {
				return err
			}
		}
		for _, key := range keys {
			fmt.Fprintf(c.out, "different: %q\n", key)
		}
		found += len(keys)
		return nil
	})
	fmt.Fprintf(c.out, "%d keys compared, %d different\n", n, found)
	if err == nil && found > 0 {
		return different(found)
	}
	return err
}

// each calls f with the keys of the first database, in batches, and returns the number of keys.
func (c *copier) each(ctx context.Context, f func(keys []string) error) (n int, err error) {
	for it := (redis.SyncCtx{S: c.from}).Scanner(ctx, redis.ScanOpts{Match: c.match, Count: batch}); ; {
		keys, err := it.Next()
		if err == redis.ScanEOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		for part := range slices.Chunk(keys, batch) {
			if err := f(part); err != nil {
				return n, err
			}
			n += len(part)
		}
	}
}
