package main

import (
	"fmt"
	"slices"

	"github.com/joomcode/redispipe/internal/command"
)

// pkg is package cmd: its functions and the types of their arguments.
type pkg struct {
	docs    map[string]*doc
	funcs   []*fn
	makers  map[string]*maker   // by their Go names
	choices map[string]*choice  // by their Go names
	structs map[string]*element // by their fields

	baseOptions map[string][]string // by command, the options of its first function
	identities  map[string]*identified
	lacking     []string // functions without a result
	// These maps have the final names by the provisional ones: see nameAll.
	makerNames, choiceNames map[string]string
}

func emptyPackage(docs map[string]*doc) *pkg {
	return &pkg{
		docs: docs, makers: map[string]*maker{}, choices: map[string]*choice{}, structs: map[string]*element{},
		baseOptions: map[string][]string{}, identities: map[string]*identified{},
	}
}

// fn is a function: a command, or one with some of its options.
type fn struct {
	doc    *doc
	name   string
	types  []string // type parameters beside T
	params []param
	body   []step
	result string
	syntax []string
}

type param struct {
	name, goType string
	variadic     bool
}

// step is a piece of a function's body, which adds words to the request r: either one word or a line.
type step struct {
	word string // an expression of type word, or ""
	line string // used if word is ""
}

// maker is a function that returns an option, or a variable that is an option.
type maker struct {
	name, token string
	params      []param
	types       []string
	fields      []field
	body        []string // the lines of Go that add the option o to a request
	shapes      []string
	shape       string
	of          []string // the commands that have the option
	in          []string // the choices that contain the option
}

type field struct{ name, goType, value string }

// choice is an interface that several options implement.
type choice struct {
	name    string
	makers  []string
	list    bool // a call may send any number of the options
	syntax  string
	of      []string
	exclude bool
}

// element is a struct of arguments that are repeated together.
type element struct {
	name   string
	fields []param
	of     []string
}

func newPackage(docs map[string]*doc) (*pkg, error) {
	p := emptyPackage(docs)
	names := p.commands()
	if err := p.nameAll(names); err != nil {
		return nil, err
	}
	for _, name := range names {
		for _, v := range variantsOf(docs[name]) {
			f, err := p.function(docs[name], v)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			p.funcs = append(p.funcs, f)
		}
	}
	return p, p.checkRules()
}

// commands returns the commands that have a function, sorted.
func (p *pkg) commands() (names []string) {
	for name, d := range p.docs {
		info := command.Lookup(name)
		protocol := info != nil && info.Class == command.Protocol
		if !protocol && !slices.Contains(d.flags, "syscmd") && leftOut[name] == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (f *fn) addType(t string) {
	if t != "" && !slices.Contains(f.types, t) {
		f.types = append(f.types, t)
	}
}

// checkRules finds rules for commands and arguments that no server knows.
func (p *pkg) checkRules() error {
	if len(p.lacking) > 0 {
		return fmt.Errorf("no results of %v", p.lacking)
	}
	names := map[string]bool{}
	for _, f := range p.funcs {
		names[f.name] = true
	}
	for name := range results {
		if !names[name] {
			return fmt.Errorf("a result of %s, which no server knows", name)
		}
	}
	for name := range variants {
		if p.docs[name] == nil {
			return fmt.Errorf("variants of %s, which no server knows", name)
		}
	}
	return nil
}
