package main

import (
	"slices"
	"strings"
)

// variant is one way to call a command. It has some optional arguments that other variants lack,
// because these arguments change the reply.
type variant struct {
	name       string
	with, less []string // the labels of the arguments that the variant has and lacks
	has        []string // with, plus the labels of the arguments that the variant may have
}

// label names an argument in the rules: by its token, or by its name if it has no token.
func (a *arg) label() string {
	switch {
	case a.hasToken && a.token != "":
		return a.token
	case a.kind == "block" && len(a.args) > 0 && a.args[0].hasToken:
		return a.args[0].token
	}
	return a.name
}

// variantsOf returns the base variant, followed by the variants in the rules. If the rules have none,
// it adds a variant for each optional argument that has no token.
func variantsOf(d *doc) []variant {
	base := variant{name: goName(d.name)}
	out := []variant{}
	for _, suffix := range variants[d.name] {
		name, with, _ := strings.Cut(suffix, " ")
		v := variant{name: base.name + name}
		for _, label := range strings.Fields(with) {
			if lacks, ok := strings.CutPrefix(label, "-"); ok {
				v.less = append(v.less, lacks)
				continue
			}
			own, may := strings.CutPrefix(label, "*")
			base.less = append(base.less, own)
			if v.has = append(v.has, own); !may {
				v.with = append(v.with, own)
			}
		}
		out = append(out, v)
	}
	if len(out) == 0 {
		for _, a := range d.args {
			if a.positional() {
				out = append(out, variant{name: base.name + camel(a.name, true), with: []string{a.name}, has: []string{a.name}})
				base.less = append(base.less, a.name)
			}
		}
	}
	for i := range out {
		for _, label := range base.less {
			if !slices.Contains(out[i].has, label) {
				out[i].less = append(out[i].less, label)
			}
		}
	}
	return append([]variant{base}, out...)
}

// positional reports whether a is an optional argument that only its place identifies.
func (a *arg) positional() bool {
	if !a.optional() || a.multiple() || a.hasToken || a.kind == "oneof" {
		return false
	}
	return a.kind != "block" || len(a.args) > 0 && !a.args[0].hasToken
}

func (p *pkg) function(d *doc, v variant) (*fn, error) {
	f := &fn{doc: d, name: v.name}
	b := &builder{pkg: p, doc: d, fn: f, v: v}
	if err := b.all(); err != nil {
		return nil, err
	}
	f.result = results[f.name]
	if f.result == "" {
		p.lacking = append(p.lacking, f.name)
	}
	return f, nil
}
