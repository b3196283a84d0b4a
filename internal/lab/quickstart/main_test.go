package main

import (
	"net"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
)

// If REDIS_ADDR or the password is wrong, that is reported before the first request.
func TestReach(t *testing.T) {
	m := miniredis.RunT(t)
	require.NoError(t, reach(testContext(t), m.Addr(), ""))
	m.RequireAuth("sesame")
	require.NoError(t, reach(testContext(t), m.Addr(), "sesame"))
	err := reach(testContext(t), m.Addr(), "canary")
	require.ErrorContains(t, err, "REDIS_ADDR can't be used")
	require.NotContains(t, err.Error(), "canary")

	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, free.Close())
	err = reach(testContext(t), free.Addr().String(), "")
	require.ErrorContains(t, err, "connection refused")
	require.ErrorContains(t, err, free.Addr().String())
}
