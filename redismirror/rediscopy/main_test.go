package main

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/testbed"
)

// Values of every type are copied with their times to live. Exactly the different keys are reported.
func TestCopies(t *testing.T) {
	t.Parallel()
	from, to := testbed.NewServer(t), testbed.NewServer(t)
	do := func(s *testbed.Server, cmd string, args ...any) { require.NoError(t, asError(s.Do(cmd, args...))) }
	for i := range 150 {
		do(from, "SET", "s"+strconv.Itoa(i), i, "EX", 1000+i)
		do(from, "SADD", "m", i, "word"+strconv.Itoa(i))
		do(from, "HSET", "h", i, "some words, so that it is not packed, but a table: "+strconv.Itoa(i))
		do(from, "RPUSH", "l", i)
		do(from, "ZADD", "z", i, i)
		do(from, "XADD", "x", "*", "n", i)
	}
	do(to, "SET", "m", "another type")
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), append([]string{"-from", "redis://" + from.Addr(), "-to", "redis://" + to.Addr()}, args...), &out)
		return out.String(), err
	}
	out, err := run("-check", "-match", "[mhlzx]")
	require.ErrorContains(t, err, "5 keys are different")
	require.Equal(t, 1, exitCode(err))
	require.Contains(t, out, `different: "h"`)
	out, err = run()
	require.NoError(t, err)
	require.Zero(t, exitCode(err))
	require.Equal(t, "155 keys copied\n155 keys compared, 0 different\n", out)
	do(to, "SREM", "m", 7)
	do(to, "PERSIST", "s9")
	out, err = run("-check")
	require.ErrorContains(t, err, "2 keys are different")
	require.Contains(t, out, `different: "m"`)
	require.Contains(t, out, `different: "s9"`)
	out, err = run("-match", "[ms]*")
	require.NoError(t, err)
	require.Contains(t, out, "151 keys compared, 0 different")
	_, err = run("-from", "mailto:x")
	require.ErrorContains(t, err, "-from: ")
	require.Equal(t, 2, exitCode(err))
	_, err = run("-to", "redis://"+from.Addr())
	require.ErrorContains(t, err, "are the same")
	do(to, "SET", "s9", "other")
	_, err = run("true", "-check") // package flag would ignore flags behind a word that is not a flag
	require.ErrorContains(t, err, `unexpected argument "true"`)
	require.Equal(t, "other", string(to.Do("GET", "s9").([]byte)))
}

func asError(res any) error {
	err, _ := res.(error)
	return err
}
