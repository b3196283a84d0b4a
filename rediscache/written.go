package rediscache

import (
	"strings"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache/internal/memory"
)

// written describes what a request may change: keys, by their hashes, or anything.
type written struct {
	keys []uint64
	all  bool
}

// add adds the possible changes of another request.
func (w *written) add(o written) {
	w.keys = append(w.keys, o.keys...)
	w.all = w.all || o.all
}

func (w *written) nothing() bool { return !w.all && len(w.keys) == 0 }

// harmless are commands without keys that change no keys and no slots, listed by the first word of
// their names, or by both.
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

// writtenBy returns what a request may change. An unknown command, or a script without KEYS, may change
// anything.
func writtenBy(r *send.Request) (w written) {
	if onlyReads(r) {
		return w
	}
	args := r.Args()
	call := command.Of(r.Cmd, args)
	if call.Info == nil {
		return written{all: true}
	}
	if first, _, _ := strings.Cut(call.Name, " "); harmless[first] || harmless[call.Name] {
		return w
	}
	for i := range call.Keys {
		w.keys = append(w.keys, memory.HashOf(keyAt(r, args, i)))
	}
	if strings.HasPrefix(call.Name, "GEORADIUS") { // with several STOREs, servers report the first and use the last
		for _, word := range r.All {
			w.keys = append(w.keys, memory.HashOfBytes(word))
		}
	}
	w.all = len(w.keys) == 0
	return w
}

// keyAt returns the key that package command has found at i.
func keyAt(r *send.Request, args []any, i int) string {
	if i == command.InCmd {
		_, key, _ := strings.Cut(r.Cmd, " ")
		return key
	}
	return args[i].(string) // as send.Request.Args makes them
}

// onlyReads reports whether a request changes nothing. Servers list PFCOUNT as a read, but it may write
// the count that it has computed into its key.
func onlyReads(r *send.Request) bool { return r.ReadOnly && !r.Is("PFCOUNT") }

// write is the future of requests that may change keys. Whatever the result, it evicts the
// keys before it passes the result on. So a read that starts when the result is
// known finds nothing older, and joins no read that was sent before.
type write struct {
	send.Forward
	core   *core
	change written
}

// Resolve implements redis.Future.
func (w *write) Resolve(res any, n uint64) {
	w.core.changed(w.change)
	waiter{w.To, n}.resolve(res)
}

// DecodeReply implements resp.ReplyDecoder. It is used only if To implements it.
func (w *write) DecodeReply(d *resp.Decoder, n uint64) (any, error) {
	return w.To.(resp.ReplyDecoder).DecodeReply(d, n)
}

var (
	_ redis.Future      = (*write)(nil)
	_ resp.ReplyDecoder = (*write)(nil)
)
