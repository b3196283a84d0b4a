package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/joomcode/redispipe/internal/command/live"
)

// A record is a text with a line per command, sorted by name:
//
//	name arity flags[,flags] [key spec]... [time]...
//
// with a | between a container's and a subcommand's name, key specs as
// begin:arguments/find:arguments[!flag], and arguments that are durations as
// time:OPTION:unit or time:@position:unit: see times.go.

// entry is a command as a server describes it.
type entry struct {
	name  string
	arity int
	flags []string
	specs []string
	times []string
}

// Positions in a command's description, see the reference of COMMAND.
const (
	atName = iota
	atArity
	atFlags
	_ // first key, last key and step: superseded by the key specs
	_
	_
	_ // ACL categories
	_ // tips
	atSpecs
	atSubcommands
	fieldCount
)

// parseReply reads the reply to COMMAND. It returns an error for servers before 7.0, whose replies have
// neither key specs nor subcommands.
func parseReply(reply any) (entries []entry, err error) {
	commands, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("COMMAND answered %v", reply)
	}
	for _, c := range commands {
		fields, ok := c.([]any)
		if !ok || len(fields) < fieldCount {
			return nil, fmt.Errorf("a command without key specs: %v", c)
		}
		e := entry{name: fields[atName].(string), arity: fields[atArity].(int)}
		for _, flag := range fields[atFlags].([]any) {
			e.flags = append(e.flags, flag.(string))
		}
		for _, spec := range fields[atSpecs].([]any) {
			e.specs = append(e.specs, formatSpec(spec))
		}
		subcommands, err := parseReply(fields[atSubcommands])
		if err != nil {
			return nil, err
		}
		if len(subcommands) > 0 {
			e.flags = append(e.flags, "container")
		}
		slices.Sort(e.flags)
		entries = append(append(entries, e), subcommands...)
	}
	return entries, nil
}

// formatSpec formats a key spec for a record. The spec is a list in which names and values alternate:
// flags, begin_search and find_keys.
func formatSpec(spec any) string {
	fields := live.Pairs(spec)
	part := func(name string) string {
		search := live.Pairs(fields[name])
		text := search["type"].(string)
		values, _ := search["spec"].([]any)
		for i := 1; i < len(values); i += 2 {
			text += fmt.Sprintf(":%v", values[i])
		}
		return text
	}
	text := part("begin_search") + "/" + part("find_keys")
	for _, flag := range fields["flags"].([]any) {
		if flag == "not_key" || flag == "incomplete" {
			text += "!" + flag.(string)
		}
	}
	return text
}

func formatRecord(entries []entry) []byte {
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	for _, e := range entries {
		flags := strings.Join(e.flags, ",")
		if flags == "" {
			flags = "-"
		}
		fmt.Fprintln(&b, strings.Join(slices.Concat([]string{e.name, fmt.Sprint(e.arity), flags}, e.specs, e.times), " "))
	}
	return b.Bytes()
}

func parseRecord(text []byte) (entries []entry, err error) {
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return nil, fmt.Errorf("not a command: %q", line)
		}
		e := entry{name: fields[0], flags: strings.Split(fields[2], ",")}
		for _, field := range fields[3:] {
			if strings.HasPrefix(field, timePrefix) {
				e.times = append(e.times, field)
			} else {
				e.specs = append(e.specs, field)
			}
		}
		if _, err := fmt.Sscan(fields[1], &e.arity); err != nil {
			return nil, fmt.Errorf("not an arity: %q", line)
		}
		entries = append(entries, e)
	}
	return entries, nil
}
