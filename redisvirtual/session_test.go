package redisvirtual

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
	"github.com/joomcode/redispipe/testbed"
)

// A virtual connection refuses WAIT, because a server waits only for the writes of the connection on which it
// gets WAIT, and the client's writes went over another one.
func TestWait(t *testing.T) {
	group := testbed.NewGroup(t, testbed.GroupOptions{Replicas: 1})
	require.NoError(t, group.Servers()[1].Pause())
	t.Cleanup(func() { _ = group.Servers()[1].Resume() })
	v := over(t, connect(t, group.Servers()[0].Addr(), defaults))
	v.say(words("SET", "wait", "1") + words("WAIT", "1", "50") + words("WAIT", "0", "50") + words("WAITAOF", "1", "0", "50"))
	v.hear(proto.OK)
	require.Contains(t, v.frame(), "-ERR WAIT counts the writes of its own connection")
	require.Contains(t, []string{":0\r\n", ":1\r\n"}, v.frame(), "it waits for none, and counts what nobody has written")
	require.Contains(t, v.frame(), "-ERR WAITAOF counts")
	v.say(words("MULTI") + words("SET", "wait", "2") + words("WAIT", "1", "50") + words("EXEC"))
	v.hear(proto.OK + proto.Queued + proto.Queued + "*2\r\n+OK\r\n:0\r\n")
	v.say(words("WATCH", "wait") + words("SET", "wait", "3") + words("WAIT", "1", "1") + words("UNWATCH"))
	v.hear(proto.OK + proto.OK + ":0\r\n" + proto.OK)
}
