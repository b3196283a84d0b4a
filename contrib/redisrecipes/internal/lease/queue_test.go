package lease

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// modelled is a simple model of a lease with a queue: the owner, and then the owners that wait.
type modelled []string

func (m *modelled) enter(owner string) {
	if !slices.Contains(*m, owner) {
		*m = append(*m, owner)
	}
}

func (m *modelled) release(owner string) (had bool) {
	had = len(*m) > 0 && (*m)[0] == owner
	*m = slices.DeleteFunc(*m, func(o string) bool { return o == owner })
	return had
}

// Owners enter and leave a queue at random. It always has the same order as a list.
func TestQueue(t *testing.T) {
	server := testbed.NewServer(t)
	client, err := redispipe.Open(context.Background(), "redis://"+server.Addr(), redispipe.Logger(nil))
	require.NoError(t, err)
	defer client.Close()
	store := Store{DB: client, TTL: time.Hour, Keep: time.Hour}
	random := rand.New(rand.NewPCG(1, 2))
	want := modelled{}
	var token int64
	for step := range 3000 {
		owner := strconv.Itoa(random.IntN(8))
		switch random.IntN(5) {
		case 0, 1:
			want.enter(owner)
			grant, err := store.Enter(t.Context(), "a", owner)
			require.NoError(t, err)
			require.Equal(t, want[0] == owner, grant.Token > 0, "step %d", step)
			require.True(t, grant.Token == 0 || grant.Token >= token, "step %d", step)
			token = max(token, grant.Token)
		case 2:
			if len(want) == 0 {
				want.enter(owner)
			}
			grant, err := store.Acquire(t.Context(), "a", owner)
			require.NoError(t, err)
			require.Equal(t, want[0] == owner, grant.Token > 0, "step %d", step)
		case 3:
			had, err := store.Release(t.Context(), "a", owner)
			require.NoError(t, err)
			require.Equal(t, want.release(owner), had, "step %d", step)
		case 4: // the owner has lost its lease without noticing
			server.Do("HSET", "a", "until", "1")
			if len(want) > 0 {
				want = want[1:]
			}
			want.enter(owner)
			_, err := store.Enter(t.Context(), "a", owner)
			require.NoError(t, err)
		}
		fields, err := redis.As[map[string]string](server.Do("HGETALL", "a"))
		require.NoError(t, err)
		require.Equal(t, []string(want), inOrder(fields), "step %d", step)
	}
	for _, owner := range want {
		had, err := store.Release(t.Context(), "a", owner)
		require.NoError(t, err)
		require.True(t, had)
	}
	fields, err := redis.As[map[string]string](server.Do("HGETALL", "a"))
	require.NoError(t, err)
	delete(fields, "token")
	require.Equal(t, map[string]string{"next:": "", "prev:": ""}, fields)
}

// A new owner removes the places at the end of the queue whose owners are dead. A place that ended only now stays,
// because its owner may be about to renew it.
func TestDeadPlaces(t *testing.T) {
	server := testbed.NewServer(t)
	client, err := redispipe.Open(context.Background(), "redis://"+server.Addr(), redispipe.Logger(nil))
	require.NoError(t, err)
	defer client.Close()
	store := Store{DB: client, TTL: time.Hour, Keep: time.Hour}
	enter := func(owner string) []string {
		_, err := store.Enter(t.Context(), "a", owner)
		require.NoError(t, err)
		fields, err := redis.As[map[string]string](server.Do("HGETALL", "a"))
		require.NoError(t, err)
		require.Len(t, fields, 5+3*(len(inOrder(fields))-1), "three fields for each place")
		return inOrder(fields)
	}
	ended := func(ago time.Duration, owners ...string) {
		for _, owner := range owners {
			server.Do("HSET", "a", "ends:"+owner, time.Now().Add(-ago).UnixMicro())
		}
	}
	_, err = store.Acquire(t.Context(), "a", "holder")
	require.NoError(t, err)
	for _, owner := range []string{"1", "2", "3"} {
		enter(owner)
	}
	ended(2*time.Hour, "1", "2", "3")
	require.Equal(t, []string{"holder", "4"}, enter("4"))
	enter("5")
	ended(time.Minute, "4")
	ended(2*time.Hour, "5")
	require.Equal(t, []string{"holder", "4", "6"}, enter("6"))
	require.Equal(t, []string{"holder", "4", "6"}, enter("4"))
}

// inOrder returns the owner of a lease, and then those in its queue.
func inOrder(fields map[string]string) []string {
	owners := []string{}
	if owner, live := fields["owner"]; live {
		owners = append(owners, owner)
	}
	for at := fields["next:"]; at != ""; at = fields["next:"+at] {
		owners = append(owners, at)
	}
	return owners
}
