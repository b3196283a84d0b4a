package main

import (
	"fmt"
	"strings"
)

// leaf says how to write one word in Go.
type leaf struct {
	goType    string
	typeParam string // the type parameter with its constraint, or ""
	format    string // converts a value into a word
}

func (l leaf) word(value string) string { return fmt.Sprintf(l.format, value) }

var leaves = map[string]leaf{
	"text":     {"string", "", "textOf(%s)"},
	"value":    {"V", "V Value", "valueOf(%s)"},
	"int":      {"int", "", "intOf(int64(%s))"},
	"int64":    {"int64", "", "intOf(%s)"},
	"uint64":   {"uint64", "", "uintOf(%s)"},
	"float":    {"float64", "", "floatOf(%s)"},
	"score":    {"ScoreBound", "", "%s.word"},
	"bound":    {"B", "B Bound", "boundOf(%s)"},
	"seconds":  {"D", "D Duration", "secondsOf(%s)"},
	"millis":   {"D", "D Duration", "millisecondsOf(%s)"},
	"decimal":  {"D", "D Duration", "decimalSecondsOf(%s)"},
	"unix":     {"time.Time", "", "intOf(%s.Unix())"},
	"unixmill": {"time.Time", "", "intOf(%s.UnixMilli())"},
}

// leafOf returns the leaf of an argument. If plain is set, or if the argument is optional, the leaf has
// no type parameter, because a caller's arguments might not determine the type.
func leafOf(cmd string, a *arg, plain bool) (leaf, error) {
	kind := kindOf(cmd, a)
	if l, ok := leaves[kind]; ok {
		if plain && kind == "value" {
			l = leaves["text"]
		}
		return l, nil
	}
	return leaf{}, fmt.Errorf("an argument %s of type %s", a.name, a.kind)
}

func kindOf(cmd string, a *arg) string {
	if kind := argKinds[cmd+"."+a.name]; kind != "" {
		return kind
	}
	if kind := argKinds[a.kind+"."+a.name]; kind != "" {
		return kind
	}
	switch a.kind {
	case "key", "string", "pattern":
		if strings.HasSuffix(a.name, "-value") && strings.HasPrefix(a.name, "if") {
			return "value"
		}
		return "text"
	case "integer":
		return "int"
	case "double":
		return "float"
	case "unix-time":
		if strings.Contains(a.name, "milli") {
			return "unixmill"
		}
		return "unix"
	}
	return ""
}
