package redisclusterutil

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/redis"
)

// FuzzParsers passes arbitrary replies of a server to every parser.
func FuzzParsers(f *testing.F) {
	f.Add([]byte("*1\r\n*3\r\n:0\r\n:16383\r\n*4\r\n$9\r\n127.0.0.1\r\n:7000\r\n$2\r\nid\r\n*2\r\n+hostname\r\n+a\r\n"))
	f.Add([]byte("*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n$-1\r\n:65535\r\n"))
	f.Add([]byte("*2\r\n+1\r\n:16384\r\n"))
	f.Add([]byte("-MOVED 1 :1\r\n"))
	f.Fuzz(func(t *testing.T, wire []byte) {
		res, _ := redis.ReadResponse(bufio.NewReader(bytes.NewReader(wire)))
		ranges, err := ParseSlotsInfo(res)
		checkTyped(t, err)
		for _, r := range ranges {
			if r.From < 0 || r.To < r.From || r.To >= NumSlots { // Addrs may be empty, if all nodes are unknown
				t.Fatalf("invalid range: %+v", r)
			}
		}
		slots, found, err := ParseMasterOnly(res)
		checkTyped(t, err)
		if found != (len(slots) > 0) {
			t.Fatal("the flag lies")
		}
	})
}

func FuzzParseClusterNodes(f *testing.F) {
	f.Add(clusterNodes)
	for line := range strings.Lines(clusterNodes) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		infos, err := ParseClusterNodes(text)
		checkTyped(t, err)
		for _, r := range infos.SlotsRanges() {
			if r.From < 0 || r.To < r.From || r.To >= NumSlots {
				t.Fatalf("a range that is none: %+v", r)
			}
		}
		if infos.HashSum() != infos.MergeWith(nil).HashSum() && !hasDuplicates(infos) {
			t.Fatal("merging changed something")
		}
		_, err = ParseInfo(text)
		checkTyped(t, err)
		_, _, err = ParseMasterOnly(text)
		checkTyped(t, err)
		redisurl.ParseEndpoint(text)
		IsIPAddress(text)
	})
}

func hasDuplicates(infos InstanceInfos) bool {
	seen := map[string]bool{}
	for _, i := range infos {
		if seen[i.Uuid] {
			return true
		}
		seen[i.Uuid] = true
	}
	return false
}

func checkTyped(t *testing.T, err error) {
	t.Helper()
	if err != nil && redis.AsErrorx(err) == nil {
		t.Fatalf("not a typed error: %v", err)
	}
}
