package main

import (
	"fmt"
	"slices"
	"strings"
)

// makerOf finds or makes the function that makes an option.
func (p *pkg) makerOf(d *doc, a *arg) (*maker, error) {
	m := &maker{}
	if err := p.fill(m, d, a); err != nil {
		return nil, err
	}
	if m.token == "" {
		m.token = goName(d.name) + camel(a.name, true)
	}
	if named := strings.TrimPrefix(a.name, "as:"); named != a.name {
		m.token = named
	}
	m.shape = strings.Join(m.shapes, ",")
	provisional := tokenName(m.token) + "/" + m.shape
	m.name = provisional
	if final := p.makerNames[provisional]; final != "" {
		m.name = final
	}
	if old := p.makers[m.name]; old != nil {
		m = old
	}
	p.makers[m.name] = m
	if !slices.Contains(m.of, d.name) {
		m.of = append(m.of, d.name)
	}
	return m, nil
}

// fill adds the words of an argument to an option.
func (p *pkg) fill(m *maker, d *doc, a *arg) error {
	if a.hasToken && !a.is("multiple_token") {
		m.word(a)
	}
	switch {
	case a.kind == "pure-token":
		return nil
	case a.kind == "oneof":
		c, err := p.choiceOf(d, a, false)
		if err != nil {
			return err
		}
		f := m.field(c.name, c.name, paramName(a), "%s")
		m.shapes[len(m.shapes)-1] = choiceShape(a) // the name of the choice is not known yet
		m.body = append(m.body, fmt.Sprintf("put%s(r, o.%s)", c.name, f))
		return nil
	case a.kind == "block" && !a.multiple():
		for i, inner := range a.args {
			if inner.optional() && inner.kind != "oneof" {
				return fmt.Errorf("%s may be missing within an option", inner.name)
			}
			if isCount(inner, a.args[i+1:]) {
				m.body = append(m.body, fmt.Sprintf("r.add(lenOf(len(o.%c)))", 'a'+len(m.fields)))
				continue
			}
			if err := p.fill(m, d, inner); err != nil {
				return err
			}
		}
		return nil
	case a.multiple():
		return p.fillList(m, d, a)
	}
	l, err := leafOf(d.name, a, false)
	if err != nil {
		return err
	}
	if l.typeParam != "" && !slices.Contains(m.types, l.typeParam) {
		m.types = append(m.types, l.typeParam)
	}
	f := m.field("word", l.goType, paramName(a), l.format)
	m.body = append(m.body, fmt.Sprintf("r.add(o.%s)", f))
	return nil
}

// fillList adds a field that is a slice.
func (p *pkg) fillList(m *maker, d *doc, a *arg) error {
	each := ""
	if a.is("multiple_token") {
		each = fmt.Sprintf("r.token(%q)\n", a.token)
		m.setToken(a.token)
	}
	if a.kind == "block" {
		s := p.structOf(d, a)
		f := m.field("[]"+s.name, s.name, paramName(a), "%s")
		m.body = append(m.body, strings.Replace(s.lines(d, a, "o."+f), "{\n", "{\n"+each, 1))
	} else {
		l, err := leafOf(d.name, a, true)
		if err != nil {
			return err
		}
		f := m.field("[]"+l.goType, l.goType, paramName(a), "%s")
		m.body = append(m.body, fmt.Sprintf("for _, x := range o.%s {\n%sr.add(%s)\n}", f, each, l.word("x")))
	}
	m.params[len(m.params)-1].variadic = true
	return nil
}

func (m *maker) setToken(token string) {
	if m.token == "" {
		m.token = token
	}
}

func (m *maker) word(a *arg) {
	m.setToken(a.token)
	sent := a.token
	if a.kind == "pure-token" && lowerCase[a.name] {
		sent = strings.ToLower(sent)
	}
	m.body = append(m.body, fmt.Sprintf("r.token(%q)", sent))
	m.shapes = append(m.shapes, sent)
}

// field adds a field to the option, and a parameter to the maker, which sets the field.
func (m *maker) field(fieldType, paramType, name, format string) string {
	f := string(rune('a' + len(m.fields)))
	m.fields = append(m.fields, field{f, fieldType, fmt.Sprintf(format, name)})
	m.params = append(m.params, param{name: name, goType: paramType})
	m.shapes = append(m.shapes, strings.ReplaceAll(fieldType+":"+paramType+":"+format, " ", ""))
	return f
}

// syntax formats the option like the documentation of commands.
func (m *maker) syntax() string {
	var words []string
	params := m.params
	for _, line := range m.body {
		if token, ok := strings.CutPrefix(line, `r.token("`); ok {
			words = append(words, strings.TrimSuffix(token, `")`))
		} else if strings.Contains(line, "lenOf") {
			words = append(words, "count")
		} else if len(params) > 0 {
			word := params[0].name
			if params[0].variadic {
				word += "..."
			}
			words = append(words, word)
			params = params[1:]
		}
	}
	return strings.Join(words, " ")
}

// choiceShape returns a text that distinguishes choices by their alternatives.
func choiceShape(a *arg) string {
	var labels []string
	for _, inner := range a.args {
		labels = append(labels, inner.label())
	}
	return strings.Join(labels, "+")
}
