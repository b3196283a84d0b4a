package testbed

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParsePeers(t *testing.T) {
	got, err := parsePeers("" +
		"aa 127.0.0.1:30001@40001,host.example myself,master - 0 0 1 connected 0-5460 7000 [93-<-bb] [94->-bb]\n" +
		"bb 127.0.0.1:30002@40002 slave,fail? aa 1 2 3 disconnected\n" +
		"cc :0@0 master,noaddr - 0 0 0 disconnected 5461\n")
	require.NoError(t, err)
	assert.Equal(t, []peer{
		{id: "aa", addr: "127.0.0.1:30001", flags: []string{"myself", "master"}, epoch: "1", linked: true, slots: "0-5460 7000"},
		{id: "bb", addr: "127.0.0.1:30002", flags: []string{"slave", "fail?"}, epoch: "3", master: "aa"},
		{id: "cc", addr: ":0", flags: []string{"master", "noaddr"}, epoch: "0", slots: "5461"},
	}, got)
	assert.False(t, got[1].is("fail"))
	assert.True(t, got[1].is("fail?"))

	_, err = parsePeers("aa 127.0.0.1:1@2 master\n")
	assert.Error(t, err)
}

func TestRanges(t *testing.T) {
	var got [][2]int
	err := peer{slots: "0-5460 7000 9000-9001"}.ranges(func(first, last int) { got = append(got, [2]int{first, last}) })
	require.NoError(t, err)
	assert.Equal(t, [][2]int{{0, 5460}, {7000, 7000}, {9000, 9001}}, got)
	for _, bad := range []string{"x", "1-x", "5-4", "-1", "0-16384"} {
		assert.Error(t, peer{slots: bad}.ranges(func(int, int) {}), bad)
	}
}
