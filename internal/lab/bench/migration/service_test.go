package migration

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/testbed"
)

// TestServices checks that the service behaves alike with each client.
func TestServices(t *testing.T) {
	server := testbed.NewServer(t)
	for name, connect := range map[string]func(ctx context.Context, url string, load loader) (Service, error){
		"redispipe": newOnRedispipe,
		"go-redis":  newOnGoRedis,
		"rueidis":   newOnRueidis,
		"radix":     newOnRadix,
		"redigo":    newOnRedigo,
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, "OK", server.Do("FLUSHALL"))
			loads := 0
			s, err := connect(t.Context(), "redis://"+server.Addr(), func(context.Context, string) (User, error) {
				loads++
				return User{"Ann", 30}, nil
			})
			require.NoError(t, err)
			defer s.Close()
			testService(t, s)
			require.Equal(t, 1, loads, "then it is cached")
			require.EqualValues(t, 1, server.Do("PERSIST", "user:1"), "for a time")
			require.EqualValues(t, 1, server.Do("PERSIST", "session:1"))
		})
	}
}

func testService(t *testing.T, s Service) {
	ctx := t.Context()
	for range 3 {
		user, err := s.User(ctx, "1")
		require.NoError(t, err)
		require.Equal(t, User{"Ann", 30}, user)
	}
	_, err := s.Session(ctx, "1")
	require.ErrorIs(t, err, ErrNoSession)
	require.NoError(t, s.SaveSession(ctx, "1", Session{"Ann", 3}))
	session, err := s.Session(ctx, "1")
	require.NoError(t, err)
	require.Equal(t, Session{"Ann", 3}, session)

	for player, points := range map[string]float64{"Ann": 2, "Bob": 1.5, "Cid": 5} {
		sum, err := s.Score(ctx, player, points)
		require.NoError(t, err)
		require.Equal(t, points, sum)
	}
	top, err := s.Top(ctx, 2)
	require.NoError(t, err)
	require.Equal(t, []Rank{{"Cid", 5}, {"Ann", 2}}, top)

	for i := range 250 {
		require.NoError(t, s.SaveSession(ctx, fmt.Sprint("old:", i), Session{"Bob", 1}))
	}
	n, err := s.Purge(ctx, "session:old:*")
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, 250, "SCAN may return a key twice")
	_, err = s.Session(ctx, "old:0")
	require.ErrorIs(t, err, ErrNoSession)
}
