package redis

import (
	"strings"

	"github.com/joomcode/redispipe/internal/command"
)

// Key returns the first key of the request, as the text that is sent. It returns false
// if the request has no key, if the command can't take these arguments, or if the key's
// type can't be sent.
//
// It knows every command up to Redis 8.2 and Valkey 9.1, from what the servers say of
// them. A shard channel (SPUBLISH, SSUBSCRIBE) counts as a key, since its slot decides
// where the request goes. Of an unknown command, usually of a module, the key is
// Args[0], whether Cmd has one word or two. RANDOMKEY answers ("RANDOMKEY", false).
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

// Keys returns all keys of the request, in the order of its arguments, or nil if there
// are none. Keys of types that can't be sent are left out. See [Request.Key].
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
