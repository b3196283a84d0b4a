package main

import (
	"fmt"
	"slices"
	"strings"
)

// builder makes the parameters and the body of a function.
type builder struct {
	pkg *pkg
	doc *doc
	fn  *fn
	v   variant

	groups, options []*arg
}

func (b *builder) all() error {
	var kept []*arg
	for _, a := range b.doc.args {
		switch label := a.label(); {
		case slices.Contains(b.v.less, label):
		case slices.Contains(b.v.with, label):
			forced := *a
			forced.flags = slices.DeleteFunc(slices.Clone(a.flags), func(f string) bool { return f == "optional" })
			kept = slices.Insert(kept, firstOptional(kept), b.forceInner(&forced))
		default:
			kept = append(kept, b.forceInner(a))
		}
	}
	var last *arg
	for i, a := range kept {
		if !a.optional() || a.multiple() && !a.hasToken && a.kind != "oneof" {
			continue
		}
		if last != nil && kept[i-1] != last {
			return fmt.Errorf("optional arguments at two places: %s", a.name)
		}
		last = a
		if a.kind == "oneof" && !a.hasToken && !a.multiple() {
			b.groups = append(b.groups, a)
		} else {
			b.options = append(b.options, a)
		}
	}
	slices.SortStableFunc(b.groups, func(x, y *arg) int { return rank(x) - rank(y) })
	placed := false
	for i, a := range kept {
		isOption := slices.Contains(b.groups, a) || slices.Contains(b.options, a)
		switch {
		case isOption && placed:
		case isOption:
			placed = true
			if err := b.optional(); err != nil {
				return err
			}
		default:
			if err := b.required(a, kept[i+1:], i == len(kept)-1); err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
		}
	}
	b.order()
	return nil
}

// firstOptional returns the index where the trailing optional arguments begin, or the number of
// arguments.
func firstOptional(args []*arg) int {
	i := len(args)
	for i > 0 && args[i-1].optional() {
		i--
	}
	return i
}

// forceInner removes arguments from a block, or makes them required, depending on the variant.
func (b *builder) forceInner(a *arg) *arg {
	if a.kind != "block" {
		return a
	}
	c := *a
	c.args = nil
	for _, inner := range a.args {
		switch label := inner.label(); {
		case inner.optional() && slices.Contains(b.v.less, label):
		case inner.optional() && slices.Contains(b.v.with, label):
			forced := *inner
			forced.flags = nil
			c.args = append(c.args, &forced)
		default:
			c.args = append(c.args, inner)
		}
	}
	return &c
}

// rank returns a key by which choices are sorted. An expiration comes first.
func rank(a *arg) int {
	if a.name == "expiration" {
		return 0
	}
	return 1
}

// order moves optional arguments after the required ones.
func (b *builder) order() {
	f := b.fn
	level := func(p param) int {
		switch c := b.pkg.choices[p.goType]; {
		case p.variadic:
			return 3
		case c != nil && c.exclude && strings.HasPrefix(p.name, "\x00"):
			return 2
		}
		return 1
	}
	slices.SortStableFunc(f.params, func(x, y param) int { return level(x) - level(y) })
	for i := range f.params {
		f.params[i].name = strings.TrimPrefix(f.params[i].name, "\x00")
	}
}

// optional adds the choices and the options of the function.
func (b *builder) optional() error {
	f := b.fn
	for _, a := range b.groups {
		c, err := b.pkg.choiceOf(b.doc, a, false)
		if err != nil {
			return err
		}
		name := paramName(a)
		f.params = append(f.params, param{name: "\x00" + name, goType: c.name})
		f.body = append(f.body, step{line: fmt.Sprintf("put%s(r, %s)", c.name, name)})
		f.syntax = append(f.syntax, "["+c.syntax+"]")
	}
	if len(b.options) == 0 {
		return nil
	}
	c, err := b.pkg.optionsOf(b.fn, b.doc, b.options)
	if err != nil {
		return err
	}
	f.params = append(f.params, param{name: "options", goType: c.name, variadic: true})
	f.body = append(f.body, step{line: fmt.Sprintf("put%ss(r, options)", c.name)})
	f.syntax = append(f.syntax, c.syntax)
	return nil
}

// required adds a required argument, or the arguments of a required block.
func (b *builder) required(a *arg, rest []*arg, last bool) error {
	f := b.fn
	free := last && len(b.options) == 0 && len(b.groups) == 0 // may be variadic
	if a.hasToken {
		f.body = append(f.body, step{word: fmt.Sprintf("textOf(%q)", a.token)})
		f.syntax = append(f.syntax, a.token)
	}
	switch {
	case a.kind == "pure-token":
		return nil
	case isCount(a, rest):
		f.body = append(f.body, step{word: fmt.Sprintf("lenOf(len(%s))", paramName(rest[0]))})
		f.syntax = append(f.syntax, a.name)
		return nil
	case a.kind == "oneof":
		if textual(a) {
			return b.leaf(&arg{name: plainName(a), kind: "string"})
		}
		c, err := b.pkg.choiceOf(b.doc, a, a.multiple())
		if err != nil {
			return err
		}
		name := paramName(a)
		if a.multiple() {
			name = plural(name)
			f.body = append(f.body, step{line: fmt.Sprintf("for _, o := range %s {\nput%s(r, o)\n}", name, c.name)})
			if free {
				f.params = append(f.params, param{name: name, goType: c.name, variadic: true})
			} else {
				f.params = append(f.params, param{name: name, goType: "[]" + c.name})
			}
		} else {
			f.params = append(f.params, param{name: name, goType: c.name})
			f.body = append(f.body, step{line: fmt.Sprintf("put%s(r, %s)", c.name, name)})
		}
		f.syntax = append(f.syntax, "<"+c.syntax+">")
		return nil
	case a.kind == "block" && a.multiple():
		return b.repeated(a, free)
	case a.kind == "block" && len(a.args) > 1 && a.args[0].multiple() && a.args[1].multiple():
		return b.columns(a, free)
	case a.kind == "block":
		for i, inner := range a.args {
			if err := b.required(inner, a.args[i+1:], free && i == len(a.args)-1); err != nil {
				return err
			}
		}
		return nil
	case a.multiple():
		return b.list(a, free)
	}
	return b.leaf(a)
}

// isCount reports whether an argument is the number of the arguments that follow.
func isCount(a *arg, rest []*arg) bool {
	return a.kind == "integer" && strings.HasPrefix(a.name, "num") && len(rest) > 0 && rest[0].multiple()
}

// textual reports whether a choice is between a text and tokens, such as $ and *, in place of a text.
func textual(a *arg) bool {
	for _, inner := range a.args {
		if inner.kind == "string" && !inner.hasToken && len(a.args) == 2 && tokenName(a.args[0].token+a.args[1].token) == "" {
			return true
		}
	}
	return false
}

func plainName(a *arg) string {
	for _, inner := range a.args {
		if inner.kind == "string" {
			return inner.name
		}
	}
	return a.name
}

func (b *builder) leaf(a *arg) error {
	l, err := leafOf(b.doc.name, a, false)
	if err != nil {
		return err
	}
	name := paramName(a)
	b.fn.addType(l.typeParam)
	b.fn.params = append(b.fn.params, param{name: name, goType: l.goType})
	b.fn.body = append(b.fn.body, step{word: l.word(name)})
	b.fn.syntax = append(b.fn.syntax, a.name)
	return nil
}

func (b *builder) list(a *arg, free bool) error {
	l, err := leafOf(b.doc.name, a, a.optional())
	if err != nil {
		return err
	}
	name, f := paramName(a), b.fn
	f.addType(l.typeParam)
	p := param{name: name, goType: l.goType, variadic: free}
	if !free {
		p.goType = "[]" + p.goType
	}
	f.params = append(f.params, p)
	f.body = append(f.body, step{line: fmt.Sprintf("for _, x := range %s {\nr.add(%s)\n}", name, l.word("x"))})
	f.syntax = append(f.syntax, a.name+"...")
	return nil
}
