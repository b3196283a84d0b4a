package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// progress prints some lines over and over on a terminal, and nothing elsewhere. stop ends that and
// removes the lines.
func progress(lines func(elapsed time.Duration) string) (stop func()) {
	if !isTerminal(os.Stdout) {
		return func() {}
	}
	start, shown := time.Now(), ""
	done := make(chan struct{})
	var wg sync.WaitGroup
	// This goroutine ends when the caller of progress calls stop.
	wg.Go(func() {
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				next := "  " + lines(time.Since(start)) + "\n"
				fmt.Print(removal(shown) + next)
				shown = next
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
		fmt.Print(removal(shown))
	}
}

// removal returns the control sequence that removes the lines shown last.
func removal(shown string) string {
	if shown == "" {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\r\x1b[J", strings.Count(shown, "\n"))
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
	paragraph("Half of the requests are SET, half GET, with values of 16 bytes. Allocations are those of the whole client. " +
		"The live view on a terminal counts a request as in flight until its whole batch is answered.")
}

// width is the greatest length of a line, in bytes.
const width = 80

// paragraph prints text in lines of at most width, unless a word is longer.
func paragraph(text string) { fmt.Println(wrap("  ", text)) }

// wrap breaks text between words into lines of at most width. All of them begin with indent.
func wrap(indent, text string) string {
	var all strings.Builder
	line := indent
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case len(line)+1+len(word) > width:
			all.WriteString(line + "\n")
			line = indent + word
		default:
			line += " " + word
		}
	}
	return all.String() + line
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
