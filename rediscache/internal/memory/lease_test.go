package memory

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A lease can be extended but not shortened. An ended lease can't be renewed.
func TestLease(t *testing.T) {
	t.Parallel()
	l := new(Lease)
	assert.False(t, l.Holds(1))
	l.Renew(10)
	l.Renew(5)
	assert.True(t, l.Holds(9))
	assert.False(t, l.Holds(10))
	l.End()
	l.Renew(20)
	assert.True(t, l.ended())
	assert.False(t, l.Holds(-1))
	(*Lease)(nil).End()
}

// A reply is not served after its lease has ended. It is served again if the lease is renewed in
// time.
func TestLeaseRunsOut(t *testing.T) {
	t.Parallel()
	r := newReads(1 << 20)
	e, _ := r.begin("key")
	r.fill(e, "value")
	assert.True(t, r.has("key"))
	r.lease.until.Store(int64(Now()) - 1)
	assert.False(t, r.has("key"))
	r.lease.Renew(1 << 62)
	assert.True(t, r.has("key"))
}
