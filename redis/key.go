package redis

import (
	"strings"

	"github.com/joomcode/redispipe/internal/command"
)

// Key returns the first key of the request: its text as it is sent. It returns
// false if the request has no key, if the arguments are none that the command
// could take, or if the key's type can't be sent.
//
// It knows every command of Redis 8.2 and Valkey 9.1 and before, by their own
// account. A shard channel (SPUBLISH, SSUBSCRIBE) counts as a key, since its
// slot decides where the request goes. Of an unknown command, a module's as a
// rule, the key is the first argument; if Cmd is of two words, the first one
// after these. RANDOMKEY answers ("RANDOMKEY", false).
func (r Request) Key() (string, bool) {
	call := command.Of(r.Cmd, r.Args)
	i := call.FirstKey()
	if i == command.NoKey {
		if call.Info != nil && call.Name == "RANDOMKEY" {
			return call.Name, false
		}
		return "", false
	}
	return r.keyAt(i)
}

// Keys returns all keys of the request, in the order of its arguments, or nil
// if there are none. Those of types that can't be sent are left out. See Key.
func (r Request) Keys() []string {
	call := command.Of(r.Cmd, r.Args)
	n := call.CountKeys()
	if n == 0 {
		return nil
	}
	keys := make([]string, 0, n)
	for i := range call.Keys {
		if key, ok := r.keyAt(i); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// keyAt returns the key that package command found at i.
func (r Request) keyAt(i int) (string, bool) {
	if i == command.InCmd {
		_, key, _ := strings.Cut(r.Cmd, " ")
		return key, true
	}
	return ArgToString(r.Args[i])
}
