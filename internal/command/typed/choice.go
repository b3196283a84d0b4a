package main

import (
	"fmt"
	"slices"
	"strings"
)

// choiceOf returns an interface for alternatives. A call sends at most one of them.
func (p *pkg) choiceOf(d *doc, a *arg, list bool) (*choice, error) {
	var makers []string
	var syntax []string
	for _, inner := range a.args {
		m, err := p.makerOf(d, inner)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.name, err)
		}
		makers = append(makers, m.name)
		syntax = append(syntax, m.syntax())
	}
	return p.choice(d, a.name, makers, false, strings.Join(syntax, " | ")), nil
}

// optionsOf returns an interface for the options of a function. A call sends any number of them.
func (p *pkg) optionsOf(f *fn, d *doc, options []*arg) (*choice, error) {
	if len(options) == 1 && options[0].kind == "oneof" && options[0].multiple() {
		c, err := p.choiceOf(d, options[0], true)
		if err == nil {
			c.list = true
		}
		return c, err
	}
	var makers []string
	var syntax []string
	for _, a := range options {
		m, err := p.makerOf(d, a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.name, err)
		}
		makers = append(makers, m.name)
		syntax = append(syntax, "["+m.syntax()+"]")
	}
	name := f.name
	if !slices.Equal(p.baseOptions[d.name], makers) && p.baseOptions[d.name] != nil {
		c := &choice{name: name + "Option", makers: makers, list: true}
		c.syntax = strings.Join(syntax, " ")
		p.addChoice(c, d.name)
		return c, nil
	}
	p.baseOptions[d.name] = makers
	c := &choice{name: goName(d.name) + "Option", makers: makers, list: true, syntax: strings.Join(syntax, " ")}
	p.addChoice(c, d.name)
	return c, nil
}

func (p *pkg) addChoice(c *choice, of string) {
	if old := p.choices[c.name]; old != nil {
		c = old
	}
	p.choices[c.name] = c
	if !slices.Contains(c.of, of) {
		c.of = append(c.of, of)
	}
	for _, m := range c.makers {
		if made := p.makers[m]; !slices.Contains(made.in, c.name) {
			made.in = append(made.in, c.name)
		}
	}
}

// choice finds or makes the choice with these alternatives.
func (p *pkg) choice(d *doc, argName string, makers []string, list bool, syntax string) *choice {
	sorted := slices.Sorted(slices.Values(makers))
	identity := strings.Join(slices.Compact(sorted), " ")
	known := p.identities[identity]
	if known == nil {
		known = &identified{}
		p.identities[identity] = known
	}
	known.seen = append(known.seen, [2]string{d.name, argName})
	c := &choice{name: p.choiceNames[identity], makers: makers, list: list, syntax: syntax, exclude: true}
	if c.name == "" {
		c.name = identity // the provisional name: see nameAll
	}
	p.addChoice(c, d.name)
	return p.choices[c.name]
}

// identified returns the commands and arguments that have the same alternatives.
type identified struct{ seen [][2]string }

// nameAll makes the package with provisional names, and then chooses the final ones.
func (p *pkg) nameAll(names []string) error {
	for _, name := range names {
		for _, v := range variantsOf(p.docs[name]) {
			if _, err := p.function(p.docs[name], v); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	p.nameMakers()
	// A choice is named after its argument if no other choice has that name.
	byArg := map[string]map[string]bool{}
	for identity, known := range p.identities {
		for _, seen := range known.seen {
			if byArg[seen[1]] == nil {
				byArg[seen[1]] = map[string]bool{}
			}
			byArg[seen[1]][identity] = true
		}
	}
	choiceNames := map[string]string{}
	for identity, known := range p.identities {
		slices.SortFunc(known.seen, func(a, b [2]string) int {
			if len(a[0]) != len(b[0]) {
				return len(a[0]) - len(b[0])
			}
			return strings.Compare(a[0]+a[1], b[0]+b[1])
		})
		first := known.seen[0]
		name := camel(first[1], true)
		if len(byArg[first[1]]) > 1 || tooGeneral[name] {
			name = goName(first[0]) + name
		}
		if renamed := choiceRules[name]; renamed != "" {
			name = renamed
		}
		// The key of choiceNames is made of the final names of makers.
		var final []string
		for _, provisional := range strings.Fields(identity) {
			final = append(final, p.makerNames[provisional])
		}
		slices.Sort(final)
		choiceNames[strings.Join(slices.Compact(final), " ")] = name
	}
	makerNames := p.makerNames
	*p = *emptyPackage(p.docs)
	p.makerNames, p.choiceNames = makerNames, choiceNames
	return nil
}

// nameMakers chooses the names of makers. The same token may need several makers, with different
// parameters, called shapes. The shape that most commands use is named after the token. The names
// of the other shapes begin with the command.
func (p *pkg) nameMakers() {
	byToken := map[string][]*maker{}
	for _, m := range p.makers {
		byToken[m.token] = append(byToken[m.token], m)
	}
	p.makerNames = map[string]string{}
	for token, shapes := range byToken {
		slices.SortFunc(shapes, func(a, b *maker) int {
			if len(a.of) != len(b.of) {
				return len(b.of) - len(a.of)
			}
			return strings.Compare(a.name, b.name)
		})
		for i, m := range shapes {
			name := tokenName(token)
			if renamed := makerRules[slices.Min(m.of)+" "+name]; renamed != "" {
				name = renamed
			} else if i > 0 {
				name = goName(slices.Min(m.of)) + name
			}
			p.makerNames[m.name] = name
		}
	}
}
