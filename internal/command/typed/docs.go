package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/joomcode/redispipe/internal/command/live"
)

// A record is a text with a line per command, sorted by name. A line for each argument follows,
// indented with one tab per level. " | " separates the fields of a line.
//
//	set | string | 1.0.0 | flags | deprecated since | replaced by | complexity | summary
//		key | key | token | flags | since
//
// A token is quoted, and - if there is none.

// doc is a server's documentation of a command, with a name such as "CLIENT LIST".
type doc struct {
	name, group, since   string
	flags                []string // deprecated, syscmd
	deprecated, replaced string
	complexity, summary  string
	args                 []*arg
	servers              []string // the servers that have the command
	sinces               sinces
}

// arg is an argument, a block of arguments, or a choice.
type arg struct {
	name, kind string
	token      string
	hasToken   bool
	flags      []string // optional, multiple, multiple_token
	since      string
	args       []*arg
}

func (a *arg) is(flag string) bool { return slices.Contains(a.flags, flag) }

func (a *arg) optional() bool { return a.is("optional") }

func (a *arg) multiple() bool { return a.is("multiple") }

// isContainer reports whether a command does nothing without a subcommand. COMMAND has subcommands,
// but also works alone.
func isContainer(subcommands map[string]any, name string) bool {
	return len(subcommands) > 0 && name != "command"
}

// parseDocs reads the reply of COMMAND DOCS.
func parseDocs(reply any) (docs []*doc) {
	for name, value := range live.Pairs(reply) {
		fields := live.Pairs(value)
		subcommands := live.Pairs(fields["subcommands"])
		docs = append(docs, parseDocs(fields["subcommands"])...)
		if isContainer(subcommands, name) {
			continue
		}
		d := &doc{
			name:       strings.ToUpper(strings.ReplaceAll(name, "|", " ")),
			group:      text(fields["group"]),
			since:      text(fields["since"]),
			deprecated: text(fields["deprecated_since"]),
			replaced:   text(fields["replaced_by"]),
			complexity: strings.TrimSuffix(text(fields["complexity"]), "."),
			summary:    text(fields["summary"]),
			flags:      texts(fields["doc_flags"]),
			args:       parseArgs(fields["arguments"]),
		}
		docs = append(docs, d)
	}
	return docs
}

func parseArgs(list any) (args []*arg) {
	items, _ := list.([]any)
	for _, item := range items {
		fields := live.Pairs(item)
		a := &arg{
			name: text(fields["name"]), kind: text(fields["type"]), since: text(fields["since"]),
			flags: texts(fields["flags"]), args: parseArgs(fields["arguments"]),
		}
		a.token, a.hasToken = fields["token"].(string)
		args = append(args, a)
	}
	return args
}

// text formats a value as one line without the separator.
func text(value any) string {
	s, _ := value.(string)
	return strings.Join(strings.Fields(strings.ReplaceAll(s, " | ", " or ")), " ")
}

func texts(list any) (out []string) {
	items, _ := list.([]any)
	for _, item := range items {
		out = append(out, text(item))
	}
	return out
}

const separator = " | "

func formatDocs(docs []*doc) []byte {
	slices.SortFunc(docs, func(a, b *doc) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	for _, d := range docs {
		fields := []string{d.name, d.group, d.since, strings.Join(d.flags, ","), d.deprecated, d.replaced, d.complexity, d.summary}
		fmt.Fprintln(&b, strings.Join(fields, separator))
		formatArgs(&b, d.args, "\t")
	}
	return b.Bytes()
}

func formatArgs(b *bytes.Buffer, args []*arg, indent string) {
	for _, a := range args {
		token := "-"
		if a.hasToken {
			token = strconv.Quote(a.token)
		}
		fields := []string{a.name, a.kind, token, strings.Join(a.flags, ","), a.since}
		fmt.Fprintln(b, indent+strings.TrimRight(strings.Join(fields, separator), " |"))
		formatArgs(b, a.args, indent+"\t")
	}
}

func parseRecord(record []byte) (docs []*doc, err error) {
	var stack []*[]*arg // the lists of arguments, one per level
	for line := range strings.Lines(string(record)) {
		line = strings.TrimRight(line, "\n")
		trimmed := strings.TrimLeft(line, "\t")
		depth := len(line) - len(trimmed)
		fields := strings.Split(trimmed+strings.Repeat(separator, 8), separator)
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
		case depth == 0:
			d := &doc{
				name: fields[0], group: fields[1], since: fields[2], flags: splitFlags(fields[3]),
				deprecated: fields[4], replaced: fields[5], complexity: fields[6], summary: fields[7],
			}
			docs = append(docs, d)
			stack = []*[]*arg{&d.args}
		case depth > len(stack):
			return nil, fmt.Errorf("too deep: %q", line)
		default:
			a := &arg{name: fields[0], kind: fields[1], flags: splitFlags(fields[3]), since: fields[4]}
			if fields[2] != "-" && fields[2] != "" {
				if a.token, err = strconv.Unquote(fields[2]); err != nil {
					return nil, fmt.Errorf("not a token: %q", line)
				}
				a.hasToken = true
			}
			to := stack[depth-1]
			*to = append(*to, a)
			stack = append(stack[:depth:depth], &a.args)
		}
	}
	return docs, nil
}

func splitFlags(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}
