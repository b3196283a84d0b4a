package redisclusterutil

import (
	"fmt"
	"strings"
	"testing"

	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func slotsNode(host any, port int64, more ...any) []any {
	return append([]any{host, port}, more...)
}

func TestParseSlotsInfo(t *testing.T) {
	b := func(s string) []byte { return []byte(s) }
	id := b("e7d1eecce10fd6bb5eb35b9f99a514335d9ba9ca")
	cases := []struct {
		name string
		in   []any
		want []SlotsRange
	}{
		{"empty", []any{}, []SlotsRange{}},
		{
			"sorted, master first",
			[]any{
				[]any{int64(5461), int64(16383), slotsNode(b("127.0.0.1"), 7001, id)},
				[]any{int64(0), int64(5460), slotsNode(b("127.0.0.1"), 7000, id), slotsNode("127.0.0.1", 65535)},
			},
			[]SlotsRange{
				{From: 0, To: 5460, Addrs: []string{"127.0.0.1:7000", "127.0.0.1:65535"}},
				{From: 5461, To: 16383, Addrs: []string{"127.0.0.1:7001"}},
			},
		},
		{
			"IPv6, empty host, null endpoint",
			[]any{[]any{int64(7), int64(7), slotsNode(b("2001:db8::1"), 7000, id), slotsNode(b(""), 7001, id), slotsNode(nil, 7002, id)}},
			[]SlotsRange{{From: 7, To: 7, Addrs: []string{"[2001:db8::1]:7000", ":7001", ":7002"}}},
		},
		{
			"hostname beside the IP",
			[]any{[]any{int64(0), int64(1), slotsNode(b("10.0.0.1"), 7000, id, []any{b("hostname"), b("a.example")}), slotsNode(b("10.0.0.2"), 7000, id, []any{})}},
			[]SlotsRange{{From: 0, To: 1, Addrs: []string{"10.0.0.1:7000", "10.0.0.2:7000"}, AddrHostnames: map[string]string{"10.0.0.1:7000": "a.example:7000"}}},
		},
		{
			"hostname as endpoint",
			[]any{[]any{int64(0), int64(1), slotsNode(b("a.example"), 7000, id, []any{b("ip"), b("10.0.0.1")})}},
			[]SlotsRange{{From: 0, To: 1, Addrs: []string{"a.example:7000"}}},
		},
		{
			"hostname not announced: the IP stands in",
			[]any{[]any{int64(0), int64(1), slotsNode(b("?"), 7000, id, []any{b("ip"), b("10.0.0.1")})}},
			[]SlotsRange{{From: 0, To: 1, Addrs: []string{"10.0.0.1:7000"}}},
		},
		{
			"RESP3 metadata",
			[]any{[]any{int64(0), int64(1), slotsNode(nil, 7000, id, map[string]any{"hostname": b("a.example")})}},
			[]SlotsRange{{From: 0, To: 1, Addrs: []string{":7000"}, AddrHostnames: map[string]string{":7000": "a.example:7000"}}},
		},
		{
			"zones of Valkey 9.1",
			[]any{[]any{int64(0), int64(1), slotsNode(b("10.0.0.1"), 7000, id, []any{b("availability-zone"), b("zone-a")}), slotsNode(b("10.0.0.2"), 7000, id, []any{})}},
			[]SlotsRange{{From: 0, To: 1, Addrs: []string{"10.0.0.1:7000", "10.0.0.2:7000"}, AddrZones: map[string]string{"10.0.0.1:7000": "zone-a"}}},
		},
		{
			"unknown nodes",
			[]any{
				[]any{int64(0), int64(1), slotsNode(b("?"), 7000, id), slotsNode(b("10.0.0.2"), 7000, id)},
				[]any{int64(2), int64(3), slotsNode(b("10.0.0.3"), 7000, id), slotsNode(b("10.0.0.4"), 0, id)},
				[]any{int64(4), int64(5)},
				[]any{int64(6), int64(7), []any{}, slotsNode(b("10.0.0.5"), 7000, id)},
				[]any{int64(8), int64(9), []any{}},
			},
			[]SlotsRange{
				{From: 0, To: 1, Addrs: []string{"10.0.0.2:7000"}},
				{From: 2, To: 3, Addrs: []string{"10.0.0.3:7000"}},
				{From: 4, To: 5},
				{From: 6, To: 7, Addrs: []string{"10.0.0.5:7000"}},
				{From: 8, To: 9},
			},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseSlotsInfo(c.in)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestParseSlotsInfoMalformed(t *testing.T) {
	for name, in := range map[string]any{
		"nil":           nil,
		"string":        "x",
		"int":           int64(1),
		"row":           []any{int64(1)},
		"short row":     []any{[]any{int64(1)}},
		"bounds type":   []any{[]any{"0", "1"}},
		"negative":      []any{[]any{int64(-1), int64(1)}},
		"past the end":  []any{[]any{int64(0), int64(NumSlots)}},
		"huge":          []any{[]any{int64(0), int64(1 << 62)}},
		"reversed":      []any{[]any{int64(2), int64(1)}},
		"node type":     []any{[]any{int64(0), int64(1), "127.0.0.1:7000"}},
		"short node":    []any{[]any{int64(0), int64(1), []any{"127.0.0.1"}}},
		"host type":     []any{[]any{int64(0), int64(1), []any{int64(1), int64(1)}}},
		"port type":     []any{[]any{int64(0), int64(1), []any{"127.0.0.1", "7000"}}},
		"port range":    []any{[]any{int64(0), int64(1), []any{"127.0.0.1", int64(65536)}}},
		"negative port": []any{[]any{int64(0), int64(1), []any{"127.0.0.1", int64(-1)}}},
		"metadata type": []any{[]any{int64(0), int64(1), []any{"127.0.0.1", int64(1), "id", "x"}}},
		"metadata odd":  []any{[]any{int64(0), int64(1), []any{"127.0.0.1", int64(1), "id", []any{"ip"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseSlotsInfo(in)
			assert.Nil(t, got)
			require.Error(t, err)
			assert.True(t, redis.AsErrorx(err).IsOfType(redis.ErrResponseUnexpected))
		})
	}
	down := redis.ErrClusterDown.New("CLUSTERDOWN")
	_, err := ParseSlotsInfo(down)
	assert.Equal(t, error(down), err)
}

// A text that is not a host must not get into logs or the names of metrics, where it could forge lines.
func TestParseHostsThatAreNone(t *testing.T) {
	for _, host := range []string{"a\nb", "a b", "\x1b[31m", "a\xff", "a\u009bb", "a\u2028b", "\u202ea", "user@a", "http://a"} {
		row := func(node ...any) []any { return []any{[]any{int64(0), int64(9), node}} }
		_, err := ParseSlotsInfo(row([]byte(host), int64(7000)))
		assert.Error(t, err, "%q", host)
		_, err = ParseSlotsInfo(row(nil, int64(7000), []byte("id"), []any{[]byte("ip"), []byte(host)}))
		assert.NoError(t, err, "the ip is of use only where the host is unknown")
		_, err = ParseSlotsInfo(row([]byte("?"), int64(7000), []byte("id"), []any{[]byte("ip"), []byte(host)}))
		assert.Error(t, err, "%q", host)
		ranges, err := ParseSlotsInfo(row([]byte("a"), int64(7000), []byte("id"), []any{[]byte("hostname"), []byte(host)}))
		require.NoError(t, err)
		assert.Empty(t, ranges[0].AddrHostnames)
		_, _, ok := redisurl.ParseEndpoint(host + ":7000")
		assert.False(t, ok, "%q", host)
		if strings.ContainsAny(host, " \n\u2028") {
			continue // CLUSTER NODES would end the field there
		}
		_, err = ParseClusterNodes([]byte("id " + host + ":7000@17000 master - 0 0 1 connected"))
		assert.Error(t, err, "%q", host)
		nodes, err := ParseClusterNodes([]byte("id a:7000@17000," + host + " master - 0 0 1 connected"))
		require.NoError(t, err)
		assert.Empty(t, nodes[0].Hostname)
	}
}

// The parsers refuse answers with too many nodes, because clients compare all nodes with each other: the
// time would grow with the square of their number.
func TestParseOfTooMuch(t *testing.T) {
	node := func(i int) []any { return []any{fmt.Sprint("h", i), int64(7000)} }
	var rows []any
	for range NumSlots + 1 {
		rows = append(rows, []any{int64(0), int64(NumSlots - 1), node(0)})
	}
	_, err := ParseSlotsInfo(rows[1:])
	require.NoError(t, err)
	_, err = ParseSlotsInfo(rows)
	assert.ErrorContains(t, err, "more ranges than slots")

	row := []any{int64(0), int64(1)}
	for i := range serversMost + 1 {
		row = append(row, node(i))
	}
	_, err = ParseSlotsInfo([]any{row[:len(row)-1]})
	require.NoError(t, err)
	_, err = ParseSlotsInfo([]any{row})
	assert.ErrorContains(t, err, "a range of too many nodes")

	rows = nil
	for i := range nodesMost + 1 {
		rows = append(rows, []any{int64(i), int64(i), node(i)})
	}
	_, err = ParseSlotsInfo(rows[1:])
	require.NoError(t, err)
	_, err = ParseSlotsInfo(rows)
	assert.ErrorContains(t, err, "too many nodes")

	line := "id h:7000@17000 master - 0 0 1 connected"
	_, err = ParseClusterNodes([]byte(strings.Repeat(line+"\n", nodesMost)))
	require.NoError(t, err)
	_, err = ParseClusterNodes([]byte(strings.Repeat(line+"\n", nodesMost+1)))
	assert.ErrorContains(t, err, "too many nodes")
	_, err = ParseClusterNodes([]byte(line + strings.Repeat(" 0-16383", 2*NumSlots)))
	require.NoError(t, err)
	_, err = ParseClusterNodes([]byte(line + strings.Repeat(" 0-16383", 2*NumSlots+1)))
	assert.ErrorContains(t, err, "too many slots")
}

// A node whose address is an empty array is left out, no matter what its other fields are.
func TestParseSlotsInfoAddressOfNothing(t *testing.T) {
	node := func(addr any) []any {
		return []any{addr, int64(7000), []byte("id"), []any{[]byte("hostname"), []byte("host")}}
	}
	ranges, err := ParseSlotsInfo([]any{[]any{int64(0), int64(9), node([]any{}), node([]byte("10.0.0.1"))}})
	require.NoError(t, err)
	require.Len(t, ranges, 1)
	assert.Equal(t, []string{"10.0.0.1:7000"}, ranges[0].Addrs)
	_, err = ParseSlotsInfo([]any{[]any{int64(0), int64(9), node([]any{int64(1)})}})
	assert.Error(t, err)
}
