package route

import (
	"crypto/x509"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

func TestNodeIsOutdated(t *testing.T) {
	for name, tt := range map[string]struct {
		sharded, replica, refused bool
		renewed                   time.Time
		had, has, named           string
		want                      bool
	}{
		"the same server":          {had: "1", has: "1"},
		"another server":           {had: "1", has: "2", want: true},
		"unknown before":           {has: "2"},
		"unknown by now":           {had: "1"},
		"refused a write":          {refused: true, want: true},
		"refused, the same server": {refused: true, had: "1", has: "1", want: true},
		"renewed just now":         {refused: true, had: "1", has: "2", renewed: time.Now()},
		"renewed long ago":         {had: "1", has: "2", renewed: time.Now().Add(-2 * time.Hour), want: true},
		"a replica":                {replica: true, refused: true, had: "1", has: "2"},
		"of a cluster, refused":    {sharded: true, refused: true, want: true},
		"of a cluster":             {sharded: true, had: "1"},
		"named since":              {sharded: true, named: "node.example", want: true},
		"a replica, named since":   {replica: true, named: "node.example", want: true},
		"named, renewed just now":  {sharded: true, named: "node.example", renewed: time.Now()},
		"named as before":          {sharded: true, named: "former.example"},
	} {
		rules := &Rules{Sharded: tt.sharded, RenewPause: time.Hour}
		n := &Node{rules: rules, Replica: tt.replica, Renewed: tt.renewed, Hostname: "former.example", Links: []*Link{{}, {}}}
		if tt.had != "" {
			n.Links[1].server.Store(&tt.had)
		}
		n.Refused.Store(tt.refused)
		assert.Equal(t, tt.want, n.Outdated(tt.has, tt.named), name)
	}
}

// After a connection is lost, it is not known which server is at its address.
func TestLostLinkIsNotOutdated(t *testing.T) {
	n := &Node{rules: &Rules{}}
	l, id := NewLink(n), "1"
	n.Links = []*Link{l}
	l.server.Store(&id)
	assert.True(t, n.Outdated("2", ""))
	assert.True(t, l.Note(nil, redisconn.LogDisconnected{}))
	assert.False(t, n.Outdated("2", ""))
	l.Note(nil, redisconn.LogConnecting{})
	assert.True(t, n.Outdated("", "node.example"))
	l.state.Store(linkUp)
	assert.False(t, n.Outdated("", "node.example"), "what is connected was verified")
}

// A node's certificate may be valid only for its address, or only for its hostname. If TLS fails with one
// of the two names, the node is replaced by one that uses the other.
func TestMisnamedNodeIsOutdated(t *testing.T) {
	failed := redisconn.LogConnectFailed{Error: redisconn.ErrTLS.Wrap(x509.HostnameError{Certificate: &x509.Certificate{}, Host: "node.example"}, "TLS handshake")}
	n := &Node{rules: &Rules{Sharded: true}, Hostname: "node.example"}
	n.Links = []*Link{NewLink(n)}
	assert.False(t, n.Outdated("", "node.example"))
	n.Links[0].Note(nil, failed)
	assert.True(t, n.Misnamed())
	assert.True(t, n.Outdated("", "node.example"))
	assert.False(t, n.Outdated("", ""), "there is no other name")

	n = &Node{rules: &Rules{Sharded: true}, ByAddr: true}
	n.Links = []*Link{NewLink(n)}
	assert.False(t, n.Outdated("", "node.example"), "its certificate is not for that")
	n.Links[0].Note(nil, redisconn.LogConnectFailed{Error: redisconn.ErrDial.New("down")})
	assert.False(t, n.Outdated("", "node.example"))
	n.Links[0].Note(nil, failed)
	assert.True(t, n.Outdated("", "node.example"), "nor for the address")
}

// If no node can take a request, the cause is the latest failure of the nodes that could.
func TestFailure(t *testing.T) {
	top := oneShard(1)
	spec := Spec{Slot: 1}
	assert.Nil(t, top.Failure(&spec))
	fail := func(n *Node, text string) {
		for _, l := range n.Links {
			l.Note(nil, redisconn.LogConnectFailed{Error: redisconn.ErrDial.New("%s", text)})
		}
	}
	fail(top.Nodes[1], "of the replica")
	assert.Nil(t, top.Failure(&spec), "it could not take it")
	spec.Replicas = true
	assert.Equal(t, top.Nodes[1].Addr, top.Failure(&spec).Addr)
	fail(top.Nodes[0], "of the master")
	assert.ErrorContains(t, top.Failure(&spec).Err, "of the master")
	spec.Slot = -1
	assert.Equal(t, top.Nodes[0].Addr, top.Failure(&spec).Addr)
	top.Nodes[0].Links[0].state.Store(linkUp)
	assert.Nil(t, top.Failure(&spec))
}

func TestSyncState(t *testing.T) {
	const replica = "role:slave\r\n"
	for _, tt := range []struct {
		text    string
		sharded bool
		want    int32
		silence time.Duration
	}{
		{text: "role:master\r\n", want: syncLive},
		{text: replica + "master_link_status:up\r\nslave_repl_offset:0\r\n", want: syncLive},
		{text: replica + "master_link_status:up\r\nmaster_last_io_seconds_ago:15\r\n", want: syncLive},
		{text: replica + "master_link_status:up\r\nmaster_last_io_seconds_ago:16\r\n", want: syncLost, silence: 16 * time.Second},
		{text: replica + "master_link_status:up\r\nmaster_last_io_seconds_ago:16\r\n", sharded: true, want: syncLive},
		{text: replica + "master_link_status:down\r\nslave_repl_offset:12\r\nmaster_link_down_since_seconds:7\r\n", want: syncLost, silence: 7 * time.Second},
		{text: replica + "master_link_status:down\r\nslave_repl_offset:12\r\nmaster_link_down_since_seconds:x\r\n", want: syncLost},
		{text: replica + "master_link_status:down\r\nslave_repl_offset:12\r\nmaster_sync_in_progress:1\r\n", want: syncNever},
		{text: replica + "master_link_status:down\r\nslave_repl_offset:0\r\n", want: syncNever},
		{want: syncNever},
	} {
		state, silence := (&Rules{Sharded: tt.sharded}).syncState([]byte(tt.text))
		assert.Equal(t, tt.want, state, "%q", tt.text)
		assert.Equal(t, tt.silence, silence, "%q", tt.text)
	}
	for err, want := range map[error]int32{
		redis.ErrLoading.New("LOADING"): syncNever,
		redis.ErrIO.New("x"):            syncNever,
		redis.ErrResult.New("NOPERM x"): syncLive,
	} {
		state, _ := new(Rules).syncState(err)
		assert.Equal(t, want, state, "%v", err)
	}
}

// A replica that has lost its master is read from until Rules.Tolerance has passed. In a chain of
// replicas, that time begins when the first link of the chain is lost.
func TestLostMasterIsTolerated(t *testing.T) {
	lost := func(seconds int) []byte {
		return fmt.Appendf(nil, "role:slave\r\nmaster_link_status:down\r\nslave_repl_offset:1\r\nmaster_link_down_since_seconds:%d\r\n", seconds)
	}
	silent := []byte("role:slave\r\nmaster_link_status:up\r\nmaster_last_io_seconds_ago:50\r\n")
	up := []byte("role:slave\r\nmaster_link_status:up\r\nmaster_last_io_seconds_ago:0\r\n")
	now := time.Now()
	n := &Node{rules: &Rules{Tolerance: time.Minute}, Replica: true}
	learn := func(res any, after time.Duration) int32 {
		n.learnSync(res, now.Add(after))
		return n.sync.Load()
	}
	assert.Equal(t, int32(syncLive), learn(lost(60), 0))
	assert.Equal(t, int32(syncLost), learn(lost(61), time.Second))
	assert.Equal(t, int32(syncLive), learn(up, time.Minute))
	assert.Equal(t, int32(syncLive), learn(silent, time.Minute))
	assert.Equal(t, int32(syncLost), learn(lost(0), time.Minute+11*time.Second), "the link to the replica in between was cut later")
	assert.Equal(t, int32(syncLive), learn(up, 2*time.Minute))
	assert.Equal(t, int32(syncLive), learn(lost(0), 2*time.Minute))
	n.rules.Tolerance = -1
	assert.Equal(t, int32(syncLost), learn(lost(0), 2*time.Minute))
}
