// Package calm shows what programs notice of restarts and failovers with several clients, at their defaults: which
// calls fail, what runs twice, and how long calls take once the servers are back.
package calm

import (
	"context"
	"fmt"
	"io"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/joomcode/redispipe/internal/lab/bench/hist"
	"github.com/joomcode/redispipe/redis"
)

// Config says what to run.
type Config struct {
	// Only is a pattern of faults and numbers of callers, such as restart-*-1000; empty is all. Clients are names,
	// separated by commas; empty is all.
	Only, Clients string
	// Log gets progress.
	Log io.Writer
}

const (
	// settles is how long after the fault the callers may be slower, and watched how long they are watched before the
	// fault and after that.
	settles = time.Second
	watched = 2 * time.Second
	// gathers is how long the callers call before the fault, after they have paused.
	gathers = 300 * time.Millisecond
	// spare is how much longer than the outage the deadline of a call is.
	spare = 6 * time.Second
)

// Run makes the faults with each client, and returns a table in Markdown.
func (c Config) Run() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s: %s.\n\n", time.Now().UTC().Format("2006-01-02"), versions())
	b.WriteString("| fault | callers | client | calls | failed | of them reads | ran twice | lost | more | p99 before | after |\n")
	b.WriteString("|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, f := range faults() {
		for _, count := range []int{20, 1000} {
			name := fmt.Sprintf("%s-%d", f.name, count)
			if ok, err := path.Match(c.Only, name); err != nil {
				return "", err
			} else if c.Only != "" && !ok {
				continue
			}
			if err := c.play(f, count, &b); err != nil {
				return b.String(), fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return b.String(), nil
}

func versions() string {
	found := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			found[m.Path] = m.Version
		}
	}
	var all []string
	for _, e := range clients[1:] {
		all = append(all, e.name+" "+strings.TrimPrefix(found[e.module], "v"))
	}
	return strings.Join(all, ", ")
}

func (c Config) wants(client string) bool {
	return c.Clients == "" || slices.Contains(strings.Split(c.Clients, ","), client)
}

// play makes a fault with each client.
func (c Config) play(f fault, count int, out io.Writer) error {
	s, err := f.start()
	if err != nil {
		return err
	}
	defer s.close()
	for _, e := range clients {
		if !c.wants(e.name) {
			continue
		}
		subject, err := e.open(s.servers())
		if err != nil {
			return err
		}
		row, err := measure(f, s, subject, e.name, count)
		subject.close()
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		row = fmt.Sprintf("| %s | %d | %s | %s |\n", f.text, count, e.name, row)
		fmt.Fprint(out, row)
		fmt.Fprint(c.Log, row)
	}
	return nil
}

// measure makes the fault while callers call, and returns the rest of a row.
func measure(f fault, s stage, subject client, name string, count int) (string, error) {
	w := start(subject, name, count, f.outage+spare)
	pass := func(p phase, d time.Duration) {
		w.phase.Store(int32(p))
		time.Sleep(d)
	}
	pass(warming, settles)
	pass(before, watched)
	w.phase.Store(int32(during))
	kinds := s.counted()
	counts := counts{acked: func() int64 { return w.sum(kinds) }}
	w.between.Lock() // no call is under way, so the counts agree
	var err error
	counts.ran, err = s.ran(kinds)
	counts.before = counts.acked()
	w.between.Unlock()
	time.Sleep(gathers)
	if err == nil {
		err = s.fail(&counts)
	}
	pass(during, settles)
	pass(after, watched)
	w.stop.Store(true)
	w.running.Wait()
	if err != nil {
		return "", err
	}
	if err := s.settle(); err != nil {
		return "", err
	}
	ranNow, err := s.ran(kinds)
	if err != nil {
		return "", err
	}
	more := float64(ranNow-counts.ran)/float64(counts.acked()-counts.before) - 1
	return w.row(s.servers(), more)
}

// sum returns how many commands of some kinds were acknowledged.
func (w *callers) sum(kinds []int) (sum int64) {
	for _, k := range kinds {
		sum += w.acknowledged(k)
	}
	return sum
}

// row judges the callers, which have ended.
func (w *callers) row(at servers, more float64) (string, error) {
	judge, err := openRedispipe(at)
	if err != nil {
		return "", err
	}
	defer judge.close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var sum caller
	for _, c := range w.all {
		if err := c.judge(ctx, redis.SyncCtx{S: judge.(pipe).c}); err != nil {
			return "", err
		}
		sum.calls, sum.failed, sum.failedReads = sum.calls+c.calls, sum.failed+c.failed, sum.failedReads+c.failedReads
		sum.unsaid, sum.twice, sum.lost = sum.unsaid+c.unsaid, sum.twice+c.twice, sum.lost+c.lost
		for p := range sum.took {
			sum.took[p].Merge(&c.took[p])
		}
	}
	if sum.unsaid > 0 {
		return "", fmt.Errorf("calm: %d writes failed, and not as unknown", sum.unsaid)
	}
	return fmt.Sprintf("%d | %d | %d | %d | %d | %.1f %% | %s | %s",
		sum.calls, sum.failed, sum.failedReads, sum.twice, sum.lost, 100*more, p99(&sum.took[before]), p99(&sum.took[after])), nil
}

func p99(h *hist.Hist) string {
	return fmt.Sprintf("%.1f ms", float64(h.Quantile(0.99))/float64(time.Millisecond))
}
