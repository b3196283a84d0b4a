package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

func TestParseView(t *testing.T) {
	slots := []any{[]any{int64(0), int64(9), []any{"", int64(7000)}}}
	refusal := redis.ErrResult.New("NOPERM no")
	v, err := ParseView("10.0.0.1:7000", slots, "aa :7000@17000 myself,master - 0 0 3 connected 0-9\n")
	require.NoError(t, err)
	assert.Equal(t, addrs("10.0.0.1:7000"), v.ranges[0].Addrs)
	require.Len(t, v.nodes, 1)
	assert.Equal(t, "10.0.0.1:7000", v.nodes[0].Addr)
	v, err = ParseView("10.0.0.1:7000", slots, refusal)
	require.NoError(t, err, "CLUSTER NODES is not needed")
	assert.Empty(t, v.nodes)
	_, err = ParseView("10.0.0.1:7000", refusal, "")
	require.Error(t, err)
}

func TestContradicts(t *testing.T) {
	l := Empty()
	l.Shards = []Shard{{"a:1", addrs("b:1")}}
	l.Slots[5] = 0
	l.aliases = map[string]string{"10.0.0.1:1": "a:1"}
	for name, tt := range map[string]struct {
		r    slotsRange
		want bool
	}{
		"the same":          {slotsRange{From: 5, To: 5, Addrs: addrs("a:1")}, false},
		"by another name":   {slotsRange{From: 5, To: 5, Addrs: addrs("10.0.0.1:1")}, false},
		"its replica":       {slotsRange{From: 5, To: 5, Addrs: addrs("b:1")}, true},
		"a stranger":        {slotsRange{From: 5, To: 5, Addrs: addrs("c:1")}, true},
		"a slot of nobody":  {slotsRange{From: 6, To: 6, Addrs: addrs("a:1")}, true},
		"nobody is master":  {slotsRange{From: 5, To: 5}, false},
		"and nobody before": {slotsRange{From: 6, To: 6}, false},
	} {
		assert.Equal(t, tt.want, View{ranges: []slotsRange{tt.r}}.Contradicts(l), name)
	}
}

// If a cluster tells clients only ports, they can reach it only at the host that they asked, no matter
// which addresses the nodes use among themselves.
func TestViewOfUnnamedHosts(t *testing.T) {
	unnamed := func(port int64) any { return []any{nil, port} }
	nodes := `a 10.0.0.1:7001@1 myself,master - 0 0 1 connected 0-8191 [5->-b]
b 10.0.0.2:7002@1 master - 0 0 2 connected 8192-16383
c 10.0.0.3:7003@1 slave b 0 0 2 connected
d 10.0.0.4:7004@1 master - 0 0 3 connected`
	v, err := ParseView("proxy:7001", []any{
		[]any{int64(0), int64(8191), unnamed(7001)}, []any{int64(8192), int64(16383), unnamed(7002)},
	}, nodes)
	require.NoError(t, err)
	l := merge([]View{v})
	assert.Equal(t, []Shard{{"proxy:7001", nil}, {"proxy:7002", addrs("proxy:7003")}}, l.Shards)
	assert.Equal(t, addrs("proxy:7004"), l.others)
	assert.Equal(t, 1, l.Find("10.0.0.2:7002"), "a scan looks for what CLUSTER NODES says")

	// A node may not know its own host, but the hosts of other nodes. Another node may have the same port.
	v, err = ParseView("a:7001", []any{[]any{int64(0), int64(16383), []any{"", int64(7001)}}},
		"a :7001@1 myself,master - 0 0 1 connected 0-16383\nb 10.0.0.2:7001@1 master - 0 0 0 connected")
	require.NoError(t, err)
	l = merge([]View{v})
	assert.Equal(t, []Shard{{Master: "a:7001"}}, l.Shards)
	assert.Equal(t, addrs("10.0.0.2:7001"), l.others)
}
