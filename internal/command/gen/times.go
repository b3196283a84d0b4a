package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/joomcode/redispipe/internal/command/live"
)

// timePrefix begins the record of an argument that is a duration. Then comes the option before the
// argument, or @ and its position: the name of the command is at 0, a subcommand at 1, the last
// argument at -1. The last part is a unit.
const timePrefix = "time:"

// units has the units of durations, with their names in package command.
var units = map[string]string{"seconds": "Seconds", "milliseconds": "Milliseconds", "decimal": "DecimalSeconds"}

// unitOf returns the unit of an argument in COMMAND DOCS, or "" if the argument is not a duration. The
// documentation does not give units, so unitOf derives them from the name of the argument, and for
// a timeout from the type.
func unitOf(name, kind string) string {
	switch {
	case name == "timeout" && kind == "double":
		return "decimal"
	case kind == "unix-time", kind == "pure-token":
		return ""
	case name == "seconds":
		return "seconds"
	case slices.Contains([]string{"milliseconds", "ms", "min-idle-time", "timeout", "ttl"}, name):
		return "milliseconds"
	}
	return ""
}

// addTimes adds the durations that COMMAND DOCS describes to the entries.
func addTimes(entries []entry, docs any) {
	times := make(map[string][]string)
	readDocs(docs, times)
	for i := range entries {
		entries[i].times = times[entries[i].name]
	}
}

// readDocs reads the documentation of commands: a list in which names and descriptions alternate.
func readDocs(docs any, times map[string][]string) {
	for name, doc := range live.Pairs(docs) {
		fields := live.Pairs(doc)
		args, _ := fields["arguments"].([]any)
		if found := timesOf(args, 1+strings.Count(name, "|")); len(found) > 0 {
			times[name] = found
		}
		readDocs(fields["subcommands"], times)
	}
}

// timesOf finds the durations among arguments. position is the position of the first argument, or 0
// if the position is not known.
func timesOf(args []any, position int) (times []string) {
	for i, arg := range args {
		fields := live.Pairs(arg)
		name, _ := fields["name"].(string)
		kind, _ := fields["type"].(string)
		token, option := fields["token"].(string)
		unit := unitOf(name, kind)
		switch last := len(args) - i; {
		case unit == "":
		case option:
			times = append(times, timePrefix+token+":"+unit)
		case position > 0:
			times = append(times, timePrefix+"@"+strconv.Itoa(position)+":"+unit)
		case last == 1:
			times = append(times, timePrefix+"@-1:"+unit)
		}
		inner, _ := fields["arguments"].([]any)
		times = append(times, timesOf(inner, 0)...)
		flags, _ := fields["flags"].([]any)
		switch {
		case option, kind == "block", len(flags) > 0: // an option of several words, or of none
			position = 0
		case position > 0:
			position++
		}
	}
	return times
}

// goTimes translates the durations of a command into Go.
func goTimes(times []string) ([]string, error) {
	var list []string
	for _, t := range times {
		fields := strings.Split(strings.TrimPrefix(t, timePrefix), ":")
		if len(fields) != 2 || units[fields[1]] == "" {
			return nil, fmt.Errorf("unknown time %s", t)
		}
		where := fmt.Sprintf("option: %q", fields[0])
		if position, ok := strings.CutPrefix(fields[0], "@"); ok {
			where = "at: " + position
		}
		list = append(list, fmt.Sprintf("{%s, unit: %s}", where, units[fields[1]]))
	}
	return list, nil
}
