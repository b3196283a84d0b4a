package redis

import (
	"github.com/joomcode/redispipe/internal/send"
)

// inmost applies f to the sender inside the retries and hooks of s, and adds the same retries and
// hooks to the result.
func inmost(s Sender, f func(Sender) Sender) Sender {
	if d := delegateOf(s); d != nil {
		return inmost(d, f)
	}
	switch s := s.(type) {
	case *retrying:
		return s.around(inmost(s.Sender, f))
	case *hooked:
		return WithHook(inmost(s.s, f), s.Hook)
	}
	return f(s)
}

// eachShard calls f with the senders of the shards of s, each wrapped by around.
func eachShard(s Sender, around func(Sender) Sender, f func(Sender, error) bool) {
	if f == nil {
		return
	}
	s.EachShard(func(shard Sender, err error) bool {
		if shard != nil {
			shard = around(shard)
		}
		return f(shard, err)
	})
}

// storedKey returns the key under which the sender's servers store key.
func storedKey(s Sender, key string) string {
	_, s = unhook(s)
	if p, ok := s.(interface{ storedKey(key string) string }); ok {
		return p.storedKey(key)
	}
	return key
}

// layer is the common part of senders that wrap another one.
type layer struct {
	to Sender
	by string // the name of the function that users call to get the sender
}

// MadeBy is called by send.Describe.
func (l layer) MadeBy() string { return l.by }

// Scanner implements Sender.
func (l layer) Scanner(opts ScanOpts) Scanner { return l.to.Scanner(opts) }

// Close implements Sender.
func (l layer) Close() { l.to.Close() }

func (l layer) storedKey(key string) string { return storedKey(l.to, key) }

// layerBackend is a layer around a sender of this module.
type layerBackend interface {
	Sender
	send.Backend[Future]
	storedKey(key string) string
	MadeBy() string
}

// remembering returns s. If the sender inside answers requests from its memory, the result does so,
// too.
func remembering(s layerBackend, memory send.Memory[Future]) Sender {
	if memory == nil {
		return s
	}
	return &layerMemory{s, memory}
}

// layerMemory is a layerBackend around a sender that answers some requests from its memory.
type layerMemory struct {
	layerBackend
	memory send.Memory[Future]
}

// Recall implements send.Memory.
func (l *layerMemory) Recall(request []byte) (send.Remembered, bool) { return l.memory.Recall(request) }

var _ send.Memory[Future] = (*layerMemory)(nil)
