package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest"
)

// mocked is a client that needs no subscriptions.
type mocked struct{ *redistest.Mock }

func (mocked) Subscriber() *redispubsub.Subscriber { return nil }

// A grant is reported even if it arrives late and the server can't be asked again; otherwise it would
// never be released.
func TestALateGrant(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		mock := redistest.NewMock(t)
		store := Store{DB: mocked{mock}, TTL: ttl}
		began := time.Now()
		granted := func(token int64) *redistest.Expectation {
			return mock.Expect("EVALSHA", redistest.Rest).Reply([]any{int64(1), token})
		}
		granted(1).After(ttl / 2)
		mock.Expect("EVALSHA", redistest.Rest).NotSent()
		grant, err := store.Acquire(t.Context(), "a", "owner")
		require.NoError(t, err)
		require.Equal(t, Grant{Token: 1, Sent: began}, grant)

		granted(1).After(ttl / 2)
		granted(2)
		began = time.Now()
		grant, err = store.Acquire(t.Context(), "a", "owner")
		require.NoError(t, err)
		require.Equal(t, Grant{Token: 2, Sent: began.Add(ttl / 2)}, grant)
		mock.Close()
	})
}
