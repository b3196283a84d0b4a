package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

// progress prints a line about once a second, or one line over and over on a
// terminal, until the function it returns is called.
func progress(line func(elapsed time.Duration) string) (stop func()) {
	interval, format := time.Second, "  %s\n"
	terminal := isTerminal(os.Stdout)
	if terminal {
		interval, format = 200*time.Millisecond, "\r  %s\x1b[K"
	}
	start := time.Now()
	done := make(chan struct{})
	var wg sync.WaitGroup
	// The caller owns this goroutine. It ends when stop is called.
	wg.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				fmt.Printf(format, line(time.Since(start)))
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
		if terminal {
			fmt.Print("\r\x1b[K")
		}
	}
}

func isTerminal(f *os.File) bool {
	stat, err := f.Stat()
	return err == nil && stat.Mode()&os.ModeCharDevice != 0
}

func printFigures(results []figures) {
	const row = "  %10s  %10s  %14s  %8s  %8s  %14s\n"
	fmt.Printf(row, "goroutines", "requests/s", "requests/write", "p50", "p99", "allocs/request")
	for _, f := range results {
		fmt.Printf(row,
			strconv.Itoa(f.goroutines),
			thousands(int64(f.perSecond)),
			fmt.Sprintf("%.1f", f.perWrite),
			round(f.p50), round(f.p99),
			fmt.Sprintf("%.2f", f.allocsRequest))
	}
	fmt.Println("  Half of the requests are SET, half GET, with values of 16 bytes.")
	fmt.Println("  Allocations are those of the whole client. A request counts as in flight until its whole batch is answered.")
}

// round rounds a duration to about three digits.
func round(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return d.Round(10 * time.Nanosecond).String()
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}

// thousands formats n with a comma after every three digits.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
