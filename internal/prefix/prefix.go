// Package prefix puts a prefix in front of the keys of requests, and removes it from the names in
// replies. It sends nothing.
package prefix

import (
	"cmp"
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/slot"
)

// Prefix is the text in front of every key.
type Prefix string

// Request returns a copy of a request with the prefix on keys, patterns and channels. names tells
// where the reply contains names. The copy shares the arguments that are not keys; its memory comes from room.
// Request returns an error if it does not know all keys.
func (p Prefix) Request(cmd string, args []any, room *Room) (prefixed string, changed []any, names Names, err *errorx.Error) {
	call := command.Of(cmd, args)
	if changed, ok := p.OnlyKey(&call, args, room); ok {
		return cmd, changed, NoNames, nil
	}
	given := len(args)
	if first, second, two := strings.Cut(cmd, " "); two {
		cmd, args = first, append([]any{second}, args...)
		call = command.Of(cmd, args)
	}
	if call.Info == nil {
		return "", nil, NoNames, errs.ErrKeysUnknown.New("%s is not in the table of commands, so its keys are not known", call.ShownName(cmd))
	}
	r := rewriting{p: p, name: call.Name, args: args, moved: len(args) - given, room: room}
	for i := range call.Keys {
		if call.Name != "CLUSTERSCAN" { // the cursor of CLUSTERSCAN is only a key for routing
			r.put(i, p)
		}
	}
	rule, _ := ruleOf(call.Name)
	if rule.edit != nil {
		rule.edit(&r)
	}
	switch {
	case r.err != nil:
		return "", nil, NoNames, r.err
	case !r.touched && call.Is(command.Container) && len(args) > 0:
		return "", nil, NoNames, errs.ErrKeysUnknown.New("this subcommand of %s is not in the table of commands, so its keys are not known", call.Name)
	case !r.touched && !isKeyless(call.Name):
		return "", nil, NoNames, errs.ErrKeysUnknown.New("%s names no key here, so a sender of WithPrefix can not limit it to the prefix: send it through the sender inside", call.Name)
	case !r.touched:
		return cmd, args, NoNames, nil
	}
	return cmd, r.changed, rule.names, nil
}

// Encoded is Request for an encoded request. It changes r, and appends the new bytes to buf.
// wantsSlot is the result of send.Backend.WantsSlot.
func (p Prefix) Encoded(buf []byte, r *send.Request, wantsSlot bool) (_ []byte, names Names, err *errorx.Error) {
	if at := onlyKey(r); at > 0 {
		r.Buf = send.AppendPrefixed(buf, r.Buf, at, string(p))
		if wantsSlot {
			r.Slot = int(slot.Of(r.Arg(at)))
		}
		return r.Buf, NoNames, nil
	}
	cmd, args, names, err := p.Request(r.Cmd, r.Args(), nil)
	if err != nil {
		return buf, NoNames, err
	}
	buf, _ = resp.AppendCommand(buf, cmd, args)
	r.Encoded(cmd, args, buf, wantsSlot)
	r.Typed = r.Typed && names == NoNames
	return buf, names, nil
}

// Refusal returns the error that Encoded would return for r, or nil.
func (p Prefix) Refusal(r *send.Request) *errorx.Error {
	if onlyKey(r) > 0 {
		return nil
	}
	_, _, _, err := p.Request(r.Cmd, r.Args(), nil)
	return err
}

// onlyKey returns the position of a request's only key, if every request with this command has
// exactly one key, at that position. Otherwise it returns 0.
func onlyKey(r *send.Request) int {
	info := command.Lookup(r.Cmd)
	if info == nil {
		return 0
	}
	if _, special := ruleOf(info.Name); special {
		return 0
	}
	if at := info.OnlyKey(); at < r.Words() {
		return at
	}
	return 0
}

// OnlyKey returns a copy of the arguments of a call with the prefix on its key, if every call of the command has exactly
// one key, at the same position. Otherwise it returns false; Request works for any call.
func (p Prefix) OnlyKey(call *command.Call, args []any, room *Room) (changed []any, ok bool) {
	at, fixed := call.FixedKey()
	if !fixed || at < 0 {
		return nil, false
	}
	if _, special := ruleOf(call.Name); special {
		return nil, false
	}
	word, ok := resp.ArgText(args[at])
	if !ok {
		return nil, false
	}
	changed = room.copy(args)
	changed[at] = room.join(p, word)
	return changed, true
}

// rewriting is a request to which the prefix is being added.
type rewriting struct {
	p       Prefix
	name    string
	args    []any
	moved   int   // number of words of Cmd that are in front of the user's arguments in args
	changed []any // a copy of args, once touched is set
	touched bool
	room    *Room
	err     *errorx.Error
}

// put puts text in front of argument i.
func (r *rewriting) put(i int, text Prefix) {
	if i >= len(r.args) {
		return // the server will refuse the request
	}
	word, ok := resp.ArgText(r.args[i])
	if !ok {
		at := i - r.moved
		r.err = errs.ErrArgumentType.New("%s: Args[%d] is a key, and can't be sent", r.name, at).WithProperty(errs.EKArgPos, at)
		return
	}
	r.set(i, r.room.join(text, word))
}

func (r *rewriting) set(i int, word string) {
	if !r.touched {
		r.changed, r.touched = r.room.copy(r.args), true
	}
	r.changed[i] = word
}

// is reports whether argument i is a keyword, in any case.
func (r *rewriting) is(i int, word string) bool {
	text, ok := resp.ArgText(r.args[i])
	return ok && strings.EqualFold(text, word)
}

// glob is Glob as a Prefix.
func (p Prefix) glob() Prefix { return Prefix(p.Glob()) }

// Glob returns a pattern that matches exactly the prefix.
func (p Prefix) Glob() string {
	var pattern strings.Builder
	for _, c := range []byte(p) {
		if strings.IndexByte(`\*?[`, c) >= 0 {
			pattern.WriteByte('\\')
		}
		pattern.WriteByte(c)
	}
	return pattern.String()
}

// Scan returns the key and the pattern of an iteration: over all keys with the prefix, or over the
// elements of one key.
func (p Prefix) Scan(cmd, key, match string) (prefixedKey, prefixedMatch string, names Names) {
	info := command.Lookup(cmp.Or(cmd, "SCAN"))
	if info.Named("SCAN") || info.Named("CLUSTERSCAN") {
		return key, string(p.glob()) + cmp.Or(match, "*"), InScan
	}
	return string(p) + key, match, NoNames
}
