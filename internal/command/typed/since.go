package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// sinces has the versions of Redis and Valkey that introduced optional arguments, by the labels of the
// arguments. It lacks arguments that are as old as their commands.
type sinces map[string]map[string]string

// note records the versions in a record. If two arguments have the same label, the older version
// counts.
func (s sinces) note(family string, d *doc, args []*arg, outer string) {
	for _, a := range args {
		since := a.since
		if since == "" {
			since = outer
		}
		label := a.name
		if a.hasToken {
			label = a.token
		}
		if newer(since, d.since) && (a.hasToken || a.positional()) {
			if s[label] == nil {
				s[label] = map[string]string{}
			}
			if old := s[label][family]; old == "" || newer(old, since) {
				s[label][family] = since
			}
		}
		s.note(family, d, a.args, since)
	}
}

// of returns the first version that has all of these labels, or "" if none of the labels is newer than
// the command.
func (s sinces) of(labels ...string) string {
	latest := map[string]string{}
	for _, label := range labels {
		for family, since := range s[label] {
			if newer(since, latest[family]) {
				latest[family] = since
			}
		}
	}
	if latest["Valkey"] == latest["Redis"] || !newer(latest["Valkey"], lastOfBoth) && latest["Redis"] != "" {
		delete(latest, "Valkey") // leave it out: it is the version for Redis
	}
	var out []string
	for _, family := range slices.Sorted(maps.Keys(latest)) {
		name := family
		if !newer(latest[family], lastOfBoth) {
			name = "Redis"
		}
		out = append(out, name+" "+latest[family])
	}
	return strings.Join(out, " and ")
}

// lastOfBoth is the last version that is the same in Redis and Valkey.
const lastOfBoth = "7.2.4"

// family returns the server that a record comes from.
func family(server string) string {
	if strings.HasPrefix(server, "valkey") {
		return "Valkey"
	}
	return "Redis"
}

// newer reports whether a version is greater than another; "" is the least.
func newer(a, b string) bool { return slices.Compare(numbers(a), numbers(b)) > 0 }

func numbers(version string) (out []int) {
	for part := range strings.SplitSeq(version, ".") {
		if n, err := strconv.Atoi(part); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// newOptions describes the words of a function's syntax that are newer than its command.
func (f *fn) newOptions() string {
	by := map[string][]string{}
	words := strings.FieldsFunc(strings.Join(f.syntax, " "), func(r rune) bool { return strings.ContainsRune(" []<>|", r) })
	for _, word := range words {
		word = strings.TrimSuffix(word, "...")
		if since := f.doc.sinces.of(word); since != "" && !slices.Contains(by[since], word) {
			by[since] = append(by[since], word)
		}
	}
	var out []string
	for _, since := range slices.Sorted(maps.Keys(by)) {
		out = append(out, strings.Join(by[since], ", ")+" since "+since)
	}
	return strings.Join(out, "; ")
}

// commands returns the commands that have the option, with the versions that introduced it.
func (m *maker) commands(docs map[string]*doc) string {
	var tokens []string
	for _, line := range m.body {
		if token, ok := strings.CutPrefix(line, `r.token("`); ok {
			tokens = append(tokens, strings.ToUpper(strings.TrimSuffix(token, `")`)))
		}
	}
	list := slices.Sorted(slices.Values(m.of))
	for i, name := range list {
		if since := docs[name].sinces.of(tokens...); since != "" {
			list[i] += " (since " + since + ")"
		}
	}
	return strings.Join(list, ", ")
}
