package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// order returns a key by which the file names of records are sorted. If several records describe a
// command, the last record counts, and earlier ones add arguments that it lacks.
func order(file string) string {
	name, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".txt"), "-")
	parts := strings.Split(version, ".")
	for i, part := range parts {
		parts[i] = fmt.Sprintf("%04s", part)
	}
	// A version of Redis comes before an older version of Valkey that is based on it.
	rank := map[string]string{"valkey": "0", "redis": "1"}[name]
	return rank + strings.Join(parts, ".")
}

// readRecords merges the records of all servers and applies the overrides.
func readRecords(dir string) (map[string]*doc, error) {
	files, err := filepath.Glob(filepath.Join(dir, "servers", "*.txt"))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(order(a), order(b)) })
	all := map[string]*doc{}
	for _, file := range files {
		docs, err := readDocs(file)
		if err != nil {
			return nil, err
		}
		server := strings.TrimSuffix(filepath.Base(file), ".txt")
		for _, d := range docs {
			old := all[d.name]
			d.sinces = sinces{}
			if old != nil {
				d.sinces = old.sinces
			}
			d.sinces.note(family(server), d, d.args, "")
			if old != nil {
				d.args = mergeArgs(d.args, old.args)
				d.servers = old.servers
			}
			d.servers = append(d.servers, server)
			all[d.name] = d
		}
	}
	overrides, err := readDocs(filepath.Join(dir, "overrides.txt"))
	if err != nil {
		return nil, err
	}
	for _, o := range overrides {
		d := all[o.name]
		if d == nil {
			return nil, fmt.Errorf("an override of %s, which no server knows", o.name)
		}
		d.args = o.args
	}
	for _, d := range all {
		d.args = adjusted(d.args)
	}
	return all, nil
}

func readDocs(file string) ([]*doc, error) {
	record, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	docs, err := parseRecord(record)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return docs, nil
}

// mergeArgs returns args, plus the optional arguments and alternatives that occur only in others,
// which come from another server. It matches arguments by their tokens.
func mergeArgs(args, others []*arg) []*arg {
	out := slices.Clone(args)
	for i, o := range others {
		at := slices.IndexFunc(out, func(a *arg) bool { return same(a, o) })
		switch {
		case at >= 0 && out[at].kind == "oneof":
			merged := *out[at]
			merged.args = mergeChoice(merged.args, o.args)
			out[at] = &merged
		case at < 0 && o.optional() && (o.hasToken || o.kind == "oneof") && !known(out, o):
			// Insert o after the argument that precedes o in others.
			after := -1
			if i > 0 {
				after = slices.IndexFunc(out, func(a *arg) bool { return same(a, others[i-1]) })
			}
			out = slices.Insert(out, after+1, o)
		}
	}
	return out
}

func mergeChoice(args, others []*arg) []*arg {
	out := slices.Clone(args)
	for _, o := range others {
		if o.hasToken && !slices.ContainsFunc(out, func(a *arg) bool { return a.hasToken && a.token == o.token }) {
			out = append(out, o)
		}
	}
	return out
}

// same reports whether two servers mean the same argument.
func same(a, b *arg) bool {
	if a.hasToken || b.hasToken {
		return a.token == b.token && a.hasToken == b.hasToken
	}
	if a.kind == "oneof" && b.kind == "oneof" && a.optional() && b.optional() {
		return slices.ContainsFunc(a.args, func(x *arg) bool {
			return slices.ContainsFunc(b.args, func(y *arg) bool { return x.hasToken && y.hasToken && x.token == y.token })
		})
	}
	return a.name == b.name || !a.optional() && !b.optional()
}

// known reports whether a token of an argument occurs among others, at any level.
func known(args []*arg, o *arg) bool {
	return slices.ContainsFunc(args, func(a *arg) bool {
		return a.hasToken && o.hasToken && a.token == o.token || known(a.args, o)
	}) || slices.ContainsFunc(o.args, func(inner *arg) bool { return known(args, inner) })
}
