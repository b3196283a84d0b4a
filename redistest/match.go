package redistest

import (
	"fmt"
	"strconv"
	"strings"

	table "github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/redis"
)

// Matcher matches an argument of an expected request.
type Matcher struct {
	name  string
	match func(arg string) bool
}

var (
	// Any matches any one argument.
	Any = Match("any", func(string) bool { return true })
	// Rest matches all further arguments, if there are any. It must come last.
	Rest = Matcher{name: "rest"}
)

// Match returns a Matcher that calls a function, which must not use the mock. A failing test shows its
// name.
func Match(name string, match func(arg string) bool) Matcher {
	return Matcher{name: "<" + name + ">", match: match}
}

func exactly(text string) Matcher {
	return Matcher{name: quoted(text), match: func(arg string) bool { return arg == text }}
}

// command returns a Matcher for a word of the command's name, in any case.
func command(name string) Matcher {
	return Matcher{name: name, match: func(arg string) bool { return strings.EqualFold(arg, name) }}
}

// pattern is an expected request, word by word.
type pattern struct {
	words []Matcher
	rest  bool
}

func patternOf(req redis.Request) (p pattern, err error) {
	for word := range strings.SplitSeq(req.Cmd, " ") {
		p.words = append(p.words, command(word))
	}
	for i, arg := range table.WithDurations(req.Cmd, req.Args) {
		text, sendable := redis.ArgToString(arg)
		matcher, ok := arg.(Matcher)
		switch {
		case ok && matcher.match == nil:
			if i != len(req.Args)-1 {
				err = fmt.Errorf("args[%d] is Rest, which must come last", i)
			}
			p.rest = true
		case ok:
			p.words = append(p.words, matcher)
		case sendable:
			p.words = append(p.words, exactly(text))
		default:
			err = fmt.Errorf("args[%d] is of type %T, which can't be sent", i, arg)
		}
	}
	return p, err
}

func (p pattern) String() string {
	words := make([]string, len(p.words))
	for i, word := range p.words {
		words[i] = word.name
	}
	if p.rest {
		words = append(words, "...")
	}
	return strings.Join(words, " ")
}

// difference returns how the words of a request differ, or "".
func (p pattern) difference(got []string) string {
	for i, want := range p.words {
		what := fmt.Sprintf("word %d", i)
		switch {
		case i >= len(got):
			return fmt.Sprintf("%s is missing, want %s", what, want.name)
		case want.match(got[i]):
		case len(got[i]) > longWord || len(want.name) > longWord:
			return what + " differs" + firstDifference(got[i], want.name)
		default:
			return fmt.Sprintf("%s is %s, want %s", what, quoted(got[i]), want.name)
		}
	}
	if len(got) > len(p.words) && !p.rest {
		return fmt.Sprintf("word %d is %s, want no more", len(p.words), quoted(got[len(p.words)]))
	}
	return ""
}

// longWord is the greatest number of bytes shown of a word: two such words fill a line.
const longWord = 64

// firstDifference shows two long words from the position where they differ. want may also be the
// name of a matcher.
func firstDifference(got, want string) string {
	text, err := strconv.Unquote(want)
	if err != nil {
		return fmt.Sprintf(": it is %s, want %s", cut(got), want)
	}
	at := 0
	for at < len(got) && at < len(text) && got[at] == text[at] {
		at++
	}
	from := max(0, at-longWord/4)
	return fmt.Sprintf(" from byte %d on: ...%s, want ...%s", at, cut(got[from:]), cut(text[from:]))
}

// quoted shows an argument in full.
func quoted(arg string) string { return strconv.Quote(arg) }

// cut shows the beginning of an argument.
func cut(arg string) string {
	if len(arg) <= longWord {
		return quoted(arg)
	}
	return quoted(arg[:longWord]) + "..."
}

// want is an expected single request or transaction.
type want struct {
	transaction bool
	requests    []pattern
}

func (w want) String() string {
	return describe(w.transaction, w.requests, pattern.String)
}

func (w want) difference(got sent) string {
	switch {
	case w.transaction && !got.transaction:
		return "it is not a transaction"
	case got.transaction && !w.transaction:
		return "it is a transaction"
	}
	for i, p := range w.requests {
		if i >= len(got.requests) {
			return fmt.Sprintf("request %d is missing, want %s", i, p)
		}
		if difference := p.difference(got.requests[i]); difference != "" && w.transaction {
			return fmt.Sprintf("request %d: %s", i, difference)
		} else if difference != "" {
			return difference
		}
	}
	if len(got.requests) > len(w.requests) {
		return fmt.Sprintf("request %d is %s, want no more", len(w.requests), shown(got.requests[len(w.requests)]))
	}
	return ""
}

// sent is a sent single request or transaction.
type sent struct {
	transaction bool
	requests    [][]string
}

func (s sent) String() string {
	return describe(s.transaction, s.requests, shown)
}

// request returns the first request, with its arguments as strings.
func (s sent) request() redis.Request {
	if len(s.requests) == 0 {
		return redis.Request{}
	}
	words := s.requests[0]
	req := redis.Request{Cmd: words[0]}
	for _, arg := range words[1:] {
		req.Args = append(req.Args, arg)
	}
	return req
}

// wordsOf returns the words of a request as they are sent. They share no memory
// with its arguments.
func wordsOf(req redis.Request) []string {
	words := strings.SplitN(req.Cmd, " ", 2)
	for _, arg := range table.WithDurations(req.Cmd, req.Args) {
		text, ok := redis.ArgToString(arg)
		if !ok {
			text = fmt.Sprintf("(%T)", arg)
		}
		words = append(words, strings.Clone(text))
	}
	return words
}

func shown(words []string) string {
	var b strings.Builder
	b.WriteString(words[0])
	for _, arg := range words[1:] {
		b.WriteString(" " + cut(arg))
	}
	return b.String()
}

func describe[R any](transaction bool, requests []R, show func(R) string) string {
	var lines []string
	for _, r := range requests {
		lines = append(lines, show(r))
	}
	text := strings.Join(lines, "; ")
	if transaction {
		return "MULTI; " + text + "; EXEC"
	}
	return text
}

// listed is the number of expectations that a message lists.
const listed = 10

func list(items []string) string {
	if more := len(items) - listed; more > 0 {
		items = append(items[:listed:listed], fmt.Sprintf("\n\tand %d more", more))
	}
	return strings.Join(items, "")
}
