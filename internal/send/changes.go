package send

import (
	"strings"

	"github.com/joomcode/redispipe/internal/command"
)

// Changes is what requests may change: certain keys, or anything. Senders that keep or share
// replies drop the replies that such a request may have made outdated.
type Changes struct {
	Keys []string
	All  bool
}

// Add adds what another request may change.
func (s *Changes) Add(o Changes) {
	s.Keys = append(s.Keys, o.Keys...)
	s.All = s.All || o.All
}

// Empty reports whether nothing may change.
func (s *Changes) Empty() bool { return !s.All && len(s.Keys) == 0 }

// harmless are commands without keys that change no keys and no slots. They are listed by the first
// word of their names, or by both words.
var harmless = func() map[string]bool {
	table := map[string]bool{}
	for _, name := range strings.Fields(`ACL ASKING AUTH BGREWRITEAOF BGSAVE CLIENT COMMAND CONFIG
		DISCARD ECHO EXEC HELLO INFO LASTSAVE LATENCY LOLWUT MEMORY MULTI PING PUBLISH PUBSUB
		READONLY READWRITE ROLE SAVE SCRIPT SELECT SLOWLOG SPUBLISH TIME UNWATCH WAIT WAITAOF WATCH`) {
		table[name] = true
	}
	for _, name := range strings.Fields(`COUNT-FAILURE-REPORTS COUNTKEYSINSLOT GETKEYSINSLOT
		GETSLOTMIGRATIONS HELP INFO KEYSLOT LINKS MYID MYSHARDID NODES REPLICAS SAVECONFIG SHARDS
		SLAVES SLOT-STATS SLOTS`) {
		table["CLUSTER "+name] = true
	}
	return table
}()

// Changes returns what the request may change. An unknown command, or a script without KEYS, may change
// anything.
func (r *Request) Changes() (s Changes) {
	if r.OnlyReads() {
		return s
	}
	args := r.Args()
	call := command.Of(r.Cmd, args)
	if call.Info == nil {
		return Changes{All: true}
	}
	if first, _, _ := strings.Cut(call.Name, " "); harmless[first] || harmless[call.Name] {
		return s
	}
	for i := range call.Keys {
		s.Keys = append(s.Keys, r.KeyAt(args, i))
	}
	if strings.HasPrefix(call.Name, "GEORADIUS") { // if there are several STOREs, servers report the first one and use the last one
		for _, word := range r.All {
			s.Keys = append(s.Keys, string(word))
		}
	}
	s.All = len(s.Keys) == 0
	return s
}

// OnlyReads reports whether the request changes nothing. PFCOUNT does not count, although servers
// list it as a read: it may store the count that it has computed in its key.
func (r *Request) OnlyReads() bool { return r.ReadOnly && !r.Is("PFCOUNT") }
