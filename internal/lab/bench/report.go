package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/joomcode/redispipe/internal/lab/bench/peer"
)

// report turns results into text, files and plots.
type report struct {
	*Results
	about string
}

// write writes everything into a directory. If dir is empty, it writes nothing.
func (r report) write(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"results.md": r.markdown(), "results.csv": r.csv(), aboutFile: r.about,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return r.plots(dir)
}

func (r report) markdown() string {
	var b strings.Builder
	b.WriteString("# Benchmark\n\n" + r.about)
	b.WriteString("\n## Targets\n\n")
	b.WriteString(r.targetTable())
	b.WriteString("\n## Nanoseconds per request\n\n")
	b.WriteString("In brackets: the ratio to the best peer of the row. Less is better. Beside them what is left:\n" +
		"redis-benchmark with values of the same size, and the processor time of redispipe's requests.\n\n")
	b.WriteString(r.overview())
	b.WriteString("\n## Everything measured\n")
	for _, c := range allCases() {
		if r.has(c.ID) {
			fmt.Fprintf(&b, "\n### %s (`%s`)\n\n%s", c.Text, c.ID, r.details(c))
		}
	}
	if len(r.failed) > 0 {
		b.WriteString("\n## Runs that failed\n\n")
		var lines []string
		for k, err := range r.failed {
			lines = append(lines, fmt.Sprintf("- `%s`, %s: %v\n", k.Case, k.Client, err))
		}
		slices.Sort(lines)
		b.WriteString(strings.Join(lines, ""))
	}
	return b.String()
}

func (r report) targetTable() string {
	t := table{{"case", "figure", "beside", "target", "measured", ""}}
	for _, g := range targets() {
		x, beside, ok := g.measure(r.Results)
		if !ok {
			continue
		}
		sign, verdict := "≤", "**missed**"
		if g.AtLeast {
			sign = "≥"
		}
		if g.met(x) {
			verdict = "met"
		}
		c, _ := find(g.Case)
		t = append(t, []string{c.Text, g.Text, beside, sign + " " + number(g.Bound), exact(x), verdict})
	}
	return t.String()
}

// overview returns the table of the closed loop. It has a row for each case, a column for each
// client, the server's limit, and the processor time of this library's requests.
func (r report) overview() string {
	columns := r.clients(func(c Case) bool { return c.Kind == closedLoop })
	head := append([]string{"case"}, columns...)
	t := table{append(head, limitName, "client CPU", "Redis CPU")}
	for _, c := range allCases() {
		if c.Kind != closedLoop || !r.has(c.ID) {
			continue
		}
		row := []string{c.Text}
		best, _, compare := r.best(c.ID, nsPerOp)
		for _, client := range columns {
			cell := r.cell(c.ID, client, nsPerOp)
			if x, ok := r.median(c.ID, client, nsPerOp); ok && compare {
				cell += fmt.Sprintf(" (%.2f)", x/best)
			}
			row = append(row, cell)
		}
		t = append(t, append(row, r.cell(c.limitID(), limitName, nsPerOp),
			r.cell(c.ID, ours, clientCPU), r.cell(c.ID, ours, serverCPU)))
	}
	return t.String()
}

// cell returns a figure, or a dash if it was not measured.
func (r report) cell(caseID, client string, m metric) string {
	if x, ok := r.median(caseID, client, m); ok {
		return number(x)
	}
	return "–"
}

// details returns the table of a case: a row for each client and a column for each metric.
func (r report) details(c Case) string {
	clients := r.clients(func(x Case) bool { return x.ID == c.ID })
	var metrics []metric
	for _, m := range allMetrics {
		if slices.ContainsFunc(clients, func(name string) bool {
			x, ok := r.median(c.ID, name, m)
			return ok && (m != failures || x > 0)
		}) {
			metrics = append(metrics, m)
		}
	}
	head := []string{"client"}
	for _, m := range metrics {
		head = append(head, string(m))
	}
	t := table{head}
	for _, client := range clients {
		row := []string{client}
		for _, m := range metrics {
			row = append(row, r.cell(c.ID, client, m))
		}
		t = append(t, row)
	}
	return t.String()
}

// clients returns the names of the clients with results in the chosen cases, in the order of the
// drivers, with redis-benchmark last.
func (r report) clients(in func(Case) bool) []string {
	var names []string
	for _, d := range peer.Drivers() {
		names = append(names, d.Name)
	}
	names = append(names, limitName)
	return slices.DeleteFunc(names, func(name string) bool {
		for _, c := range allCases() {
			if in(c) && len(r.runs[key{c.ID, name}]) > 0 {
				return false
			}
		}
		return true
	})
}

// number formats a number with three significant digits. Larger numbers are whole.
func number(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "–"
	case math.Abs(x) >= 1000:
		return thousands(int64(math.Round(x)))
	case math.Abs(x) >= 100:
		return fmt.Sprintf("%.0f", x)
	case math.Abs(x) >= 10:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}

// exact formats a number with one more digit, for figures close to their bound.
func exact(x float64) string {
	if math.Abs(x) < 10 {
		return fmt.Sprintf("%.3f", x)
	}
	return number(x)
}

func thousands(n int64) string {
	if n < 0 {
		return "-" + thousands(-n)
	}
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// table is a Markdown table: a head and rows.
type table [][]string

func (t table) String() string {
	var b strings.Builder
	for i, row := range t {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|---" + strings.Repeat("|---:", len(row)-1) + "|\n")
		}
	}
	return b.String()
}
