package memserver

import "strings"

// Difference is the part of a difference that tests use.
type Difference struct {
	From, Before string // versions of servers that differ; empty means all
	Warned       bool
}

// Differences returns all differences by name.
func Differences() map[string]Difference {
	out := map[string]Difference{}
	for _, d := range differences {
		out[d.name] = Difference{d.from, d.before, d.uses != "" || d.seen}
	}
	return out
}

// DifferencesTable returns the table of the docs.
func DifferencesTable() string {
	var b strings.Builder
	b.WriteString("| what differs | from servers | warning |\n|---|---|---|\n")
	for _, d := range differences {
		versions, warning := "all", "yes"
		switch {
		case d.from != "" && d.before != "":
			versions = d.from + " up to " + d.before
		case d.before != "":
			versions = "before " + d.before
		case d.from != "":
			versions = "from " + d.from
		}
		if d.uses == "" && !d.seen {
			warning = "no"
		}
		b.WriteString("| " + d.text + " | " + versions + " | " + warning + " |\n")
	}
	return b.String()
}
