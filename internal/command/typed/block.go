package main

import (
	"fmt"
	"slices"
	"strings"
)

// repeated adds a block that is sent once for each element of a slice.
func (b *builder) repeated(a *arg, free bool) error {
	f, name := b.fn, paramName(a)
	p := param{name: name}
	names := []string{}
	for _, inner := range a.args {
		names = append(names, inner.name)
	}
	switch {
	case len(a.args) == 2 && a.args[0].kind != "integer" && a.args[1].name == "value":
		p.name, p.goType = "fields", "Field"
		if a.args[0].kind == "key" {
			p.name = "values"
		}
		f.body = append(f.body, step{line: fmt.Sprintf("r.fields(%s)", p.name)})
	case len(a.args) == 2 && a.args[0].name == "score" && a.args[1].name == "member":
		p.name, p.goType = "members", "redis.Scored[V]"
		f.addType("V Value")
		f.body = append(f.body, step{line: "for _, m := range members {\nr.add(floatOf(m.Score))\nr.add(valueOf(m.Member))\n}"})
	default:
		s := b.pkg.structOf(b.doc, a)
		p.goType = s.name
		f.body = append(f.body, step{line: s.lines(b.doc, a, name)})
	}
	if a.args[0].hasToken {
		return fmt.Errorf("a block with tokens")
	}
	p.variadic = free
	if !free {
		p.goType = "[]" + p.goType
	}
	f.params = append(f.params, p)
	f.syntax = append(f.syntax, strings.Join(names, " ")+"...")
	b.fixCount(p.name, name)
	return nil
}

// fixCount puts the name of a parameter into the count that is sent before the parameter.
func (b *builder) fixCount(name, docName string) {
	for i, s := range b.fn.body {
		if s.word == fmt.Sprintf("lenOf(len(%s))", docName) {
			b.fn.body[i].word = fmt.Sprintf("lenOf(len(%s))", name)
		}
	}
}

// columns adds a repeated block of two arguments. All first arguments are sent before all second ones.
func (b *builder) columns(a *arg, free bool) error {
	f := b.fn
	s := b.pkg.structOf(b.doc, a)
	name := paramName(a)
	for i, inner := range a.args {
		l, err := leafOf(b.doc.name, inner, true)
		if err != nil {
			return err
		}
		f.body = append(f.body, step{line: fmt.Sprintf("for _, x := range %s {\nr.add(%s)\n}", name, l.word("x."+s.fields[i].name))})
	}
	p := param{name: name, goType: s.name, variadic: free}
	if !free {
		p.goType = "[]" + p.goType
	}
	f.params = append(f.params, p)
	f.syntax = append(f.syntax, a.args[0].name+"... "+a.args[1].name+"...")
	return nil
}

// structOf finds or makes the struct for the arguments of a block.
func (p *pkg) structOf(d *doc, a *arg) *element {
	var fields []param
	identity := ""
	for _, inner := range a.args {
		l, err := leafOf(d.name, inner, true)
		if err != nil {
			l = leaves["text"]
		}
		fields = append(fields, param{name: camel(inner.name, true), goType: l.goType})
		identity += inner.name + " " + l.goType + " "
	}
	s := p.structs[identity]
	if s == nil {
		name := goName(d.name) + camel(a.name, true)
		if renamed := structRules[name]; renamed != "" {
			name = renamed
		}
		s = &element{name: name, fields: fields}
		p.structs[identity] = s
	}
	if !slices.Contains(s.of, d.name) {
		s.of = append(s.of, d.name)
	}
	return s
}

// lines returns a loop in Go that adds the fields of all elements of a slice to a request.
func (s *element) lines(d *doc, a *arg, slice string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "for _, x := range %s {\n", slice)
	for i, inner := range a.args {
		l, err := leafOf(d.name, inner, true)
		if err != nil {
			l = leaves["text"]
		}
		fmt.Fprintf(&b, "r.add(%s)\n", l.word("x."+s.fields[i].name))
	}
	b.WriteString("}")
	return b.String()
}
