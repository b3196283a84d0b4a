package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// viewOf returns the view of the node at asked, whose ID is the first of ids. The node serves a range of
// slots, and knows the nodes with the other IDs.
func viewOf(asked string, from, to int, ids ...string) View {
	v := View{asked: asked}
	for i, id := range ids {
		n := member(id, "host-"+id, 1, 1)
		if n.MySelf = i == 0; n.MySelf {
			n = myself(member(id, asked[:len(asked)-2], 1, 1))
			if from <= to {
				v.ranges = []slotsRange{{From: from, To: to, Addrs: addrs(n.Addr)}}
			}
		}
		v.nodes = append(v.nodes, n)
	}
	return v
}

func mastersOf(l *Layout) []string {
	if l == nil {
		return nil
	}
	return l.Masters()
}

// If seeds lead to several clusters, the one with the most slots counts, then the one with the
// most seeds, then the one of the first seed. The order and the addresses of the other seeds do not
// matter.
func TestSeedsOfSeveralClusters(t *testing.T) {
	whole := func(asked string, ids ...string) View { return viewOf(asked, 0, 16383, ids...) }
	good, empty, three := whole("m:1", "g"), viewOf("a:1", 1, 0, "e"), viewOf("b:1", 0, 2, "t")
	for name, tt := range map[string]struct {
		seeds []View
		want  []string
	}{
		"nobody":                    {nil, nil},
		"an empty one":              {[]View{empty}, nil},
		"an empty one, first":       {[]View{empty, good}, addrs("m:1")},
		"an empty one, last":        {[]View{good, empty}, addrs("m:1")},
		"three slots, first":        {[]View{three, good}, addrs("m:1")},
		"three slots, last":         {[]View{good, three, empty}, addrs("m:1")},
		"three slots, nothing else": {[]View{empty, three}, addrs("b:1")},
		"many useless ones":         {[]View{viewOf("a:1", 0, 2, "t", "u"), viewOf("b:1", 3, 5, "u", "t"), good}, addrs("m:1")},
		"most speak for it":         {[]View{whole("a:1", "x"), whole("m:1", "g", "h"), viewOf("n:1", 1, 0, "h", "g")}, addrs("m:1")},
		"the first":                 {[]View{whole("z:1", "z"), whole("m:1", "g")}, addrs("z:1")},
	} {
		l, left := new(Kin).OfSeeds(nil, tt.seeds, false)
		assert.Equal(t, tt.want, mastersOf(l), name)
		assert.False(t, left, name)
	}
}

// A client stays with the nodes that it knows, even if other nodes answer at their former
// addresses.
func TestKinStaysWithWhomItKnows(t *testing.T) {
	whole := func(asked string, ids ...string) View { return viewOf(asked, 0, 16383, ids...) }
	known := whole("m:1", "a", "b", "c")
	for name, tt := range map[string]struct {
		nodes []View
		want  []string
	}{
		"the same":                     {[]View{known}, addrs("m:1")},
		"a stranger beside it":         {[]View{whole("a:1", "x"), known}, addrs("m:1")},
		"strangers are more":           {[]View{whole("a:1", "x", "y"), viewOf("b:1", 1, 0, "y", "x"), known}, addrs("m:1")},
		"it is silent":                 {[]View{whole("a:1", "x")}, nil},
		"one has gone over":            {[]View{whole("a:1", "b", "x"), known}, addrs("m:1")},
		"one has gone over, it alone":  {[]View{whole("a:1", "b", "x")}, nil},
		"most of it":                   {[]View{whole("n:1", "b", "c", "d")}, addrs("n:1")},
		"it says nothing of slots":     {[]View{viewOf("m:1", 1, 0, "a", "b", "c"), whole("a:1", "x")}, nil},
		"a stranger, without any IDs":  {[]View{{asked: "a:1", ranges: whole("a:1").ranges}}, nil},
		"a stranger that knows itself": {[]View{whole("a:1", "x", "a")}, nil},
	} {
		k := &Kin{}
		require.NotNil(t, k.OfNodes([]View{known}), name)
		assert.Equal(t, tt.want, mastersOf(k.OfNodes(tt.nodes)), name)
	}
}

// A cluster stays the same one while nodes join, leave or fail one by one.
func TestKinFollowsTheClusterAsItChanges(t *testing.T) {
	k := &Kin{}
	for _, ids := range [][]string{{"a", "b", "c"}, {"b", "c", "d"}, {"c", "d", "e"}, {"f", "e", "d"}} {
		require.NotNil(t, k.OfNodes([]View{viewOf("m:1", 0, 16383, ids...)}), "%v", ids)
	}
	v := viewOf("m:1", 0, 16383, "f", "e", "d", "1", "2", "3", "4")
	for i := range v.nodes[3:] {
		v.nodes[3+i].Fail = true
	}
	require.NotNil(t, k.OfNodes([]View{v}))
	require.NotNil(t, k.OfNodes([]View{viewOf("m:1", 0, 16383, "f", "e", "d")}), "those that had failed are forgotten")
}

// Seeds lead to the cluster that the client knows. They lead to another cluster only if the client may
// follow strangers, or if it has never known an owner of every slot. The client reports that it has left
// its cluster.
func TestSeedsOfAnotherCluster(t *testing.T) {
	known, same, other := viewOf("m:1", 0, 16383, "a", "b"), viewOf("n:1", 0, 16383, "b", "a"), viewOf("a:1", 0, 16383, "x")
	k := &Kin{}
	require.NotNil(t, k.OfNodes([]View{known}))
	l, left := k.OfSeeds(nil, []View{other, same}, true)
	assert.Equal(t, addrs("n:1"), mastersOf(l))
	assert.False(t, left)
	l, _ = k.OfSeeds(nil, []View{other}, false)
	assert.Nil(t, l)
	l, left = k.OfSeeds(nil, []View{other}, true)
	assert.Equal(t, addrs("a:1"), mastersOf(l))
	assert.True(t, left)
	assert.Nil(t, k.OfNodes([]View{known}), "it belongs to the other one now")

	three := viewOf("b:1", 0, 2, "t")
	k = &Kin{}
	require.NotNil(t, k.OfNodes([]View{three}))
	require.False(t, k.Whole())
	l, left = k.OfSeeds([]View{three, other}, []View{known}, false)
	assert.Equal(t, addrs("m:1"), mastersOf(l), "seeds count, and not who answers elsewhere")
	assert.True(t, left)
	require.True(t, k.Whole())
}
