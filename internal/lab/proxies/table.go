package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// table has the results of one client through each proxy.
type table struct {
	client  string
	through []*proxy

	mu    sync.Mutex // guards cells
	cells map[*proxy][]result
}

// result is a cell of a table. detail is the reason why a feature does not work.
type result struct{ text, detail string }

func newTable(client string, through []*proxy) *table {
	t := &table{client: client, through: through, cells: map[*proxy][]result{}}
	for _, p := range through {
		t.cells[p] = make([]result, len(features))
	}
	return t
}

func (t *table) set(p *proxy, feature int, r result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cells[p][feature] = r
}

// print writes the table as Markdown, with the details below.
func (t *table) print(w io.Writer) {
	fmt.Fprintf(w, "\n| %s through |", t.client)
	for _, p := range t.through {
		fmt.Fprintf(w, " %s |", strings.TrimSpace(p.name+" "+p.about()))
	}
	fmt.Fprint(w, "\n|---|", strings.Repeat("---|", len(t.through)), "\n")
	var details []string
	for i, f := range features {
		row, shown := "", false
		for _, p := range t.through {
			r := t.cells[p][i]
			shown = shown || r.text != "–"
			text := r.text
			if r.detail != "" {
				at := slices.Index(details, r.detail)
				if at < 0 {
					at, details = len(details), append(details, r.detail)
				}
				text += fmt.Sprintf(" (%d)", at+1)
			}
			row += " " + text + " |"
		}
		if shown {
			fmt.Fprintf(w, "| %s |%s\n", f.name, row)
		}
	}
	fmt.Fprintln(w)
	for i, d := range details {
		fmt.Fprintf(w, "%d. %s\n", i+1, d)
	}
}

// slow is the time within which an error should come, unless the trial kills something or waits.
// The time of a later error is shown.
const slow = 3 * time.Second

// particular matches the parts in which texts of the same error differ.
var particular = regexp.MustCompile(`(127\.0\.0\.1:|\bport )\d+|redispipe:[^,]*? [0-9]+|0x[0-9a-f]+`)

// result returns the cell for a trial that has ended with err.
func (t *trial) result(err error, took time.Duration) result {
	r := result{text: "works"}
	if err == nil {
		if t.note != "" {
			r.text += ", " + t.note
		}
		return r
	}
	r.text = "no"
	if took > slow && t.note == "" {
		r.text = fmt.Sprintf("no, after %.0f s", took.Seconds())
	}
	for { // show the first of several joined errors
		var several interface{ Unwrap() []error }
		if !errors.As(err, &several) || len(several.Unwrap()) == 0 {
			break
		}
		err = several.Unwrap()[0]
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	r.detail = strings.ReplaceAll(particular.ReplaceAllString(text, "…"), "|", "/")
	if t.note != "" {
		r.detail += " (" + t.note + ")"
	}
	return r
}
