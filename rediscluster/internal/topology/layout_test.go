package topology

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/redis"
)

func TestLayout(t *testing.T) {
	l := merge([]View{{asked: "a:1", ranges: []slotsRange{
		{From: 0, To: 99, Addrs: addrs("a:1", "b:1")},
		{From: 100, To: 199, Addrs: addrs("c:1")},
	}}})
	l.others = addrs("d:1")
	l.aliases["10.0.0.1:1"] = "a:1"
	assert.Equal(t, []Node{{Addr: "a:1"}, {"b:1", true}, {Addr: "c:1"}, {Addr: "d:1"}}, slices.Collect(l.Nodes()))

	for addr, at := range map[string]int{"a:1": 0, "10.0.0.1:1": 0, "b:1": 1, "c:1": 2, "d:1": 3, "e:1": -1, "": -1} {
		assert.Equal(t, at, l.Find(addr), addr)
	}
	for slot, master := range map[int]string{0: "a:1", 99: "a:1", 100: "c:1", 199: "c:1", 200: ""} {
		addr, served := l.masterOf(slot)
		assert.Equal(t, master, addr, slot)
		assert.Equal(t, master != "", served, slot)
	}
	for i := range l.Nodes() { // the iteration may end early
		assert.Equal(t, "a:1", i.Addr)
		break
	}

	both := oneShard("a:1", addrs("b:1"))
	both.Shards = append(both.Shards, Shard{Master: "b:1"})
	assert.Equal(t, 2, both.Find("b:1"), "a master is preferred")
	assert.Equal(t, 1, oneShard("", addrs("b:1")).Find("b:1"), "a master that does not exist is nobody's alias")
}

func TestLayoutEqual(t *testing.T) {
	layout := func() *Layout {
		return &Layout{Shards: []Shard{{"a:1", addrs("b:1")}}, others: addrs("d:1"), aliases: map[string]string{"10.0.0.1:1": "a:1"}}
	}
	l := layout()
	assert.True(t, l.Equal(layout()))
	for name, change := range map[string]func(*Layout){
		"a slot":            func(l *Layout) { l.Slots[50] = 1 },
		"a master":          func(l *Layout) { l.Shards[0].Master = "c:1" },
		"a replica":         func(l *Layout) { l.Shards[0].Replicas = nil },
		"a shard":           func(l *Layout) { l.Shards = append(l.Shards, Shard{Master: "c:1"}) },
		"another member":    func(l *Layout) { l.others = nil },
		"MOVED may name it": func(l *Layout) { l.aliases = map[string]string{"10.0.0.2:1": "a:1"} },
		"reads":             func(l *Layout) { l.MasterOnly.Add(130) },
		"no master":         func(l *Layout) { l.Reason = redis.ErrIO.New("x") },
	} {
		o := layout()
		change(o)
		assert.False(t, l.Equal(o), name)
		assert.False(t, o.Equal(l), name)
	}
}
