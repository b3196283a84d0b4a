//go:build unix

package lock

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/testbed"
)

const stoppedTTL = 300 * time.Millisecond

// If a process is stopped for longer than its lock lasts, it learns that it has lost the lock, and a store that
// checks tokens refuses its writes.
func TestAStoppedHolder(t *testing.T) {
	server := testbed.NewServer(t)
	holder := exec.Command(os.Args[0], "-test.run=^TestHolderProcess$")
	holder.Env = append(os.Environ(), "REDISPIPE_LOCK_HOLDER="+server.Addr())
	to, err := holder.StdinPipe()
	require.NoError(t, err)
	out, err := holder.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, holder.Start())
	defer func() { _ = holder.Process.Kill() }()
	from := bufio.NewReader(out)
	var token int64
	_, err = fmt.Fscanln(from, &token)
	require.NoError(t, err)
	require.NoError(t, holder.Process.Signal(syscall.SIGSTOP))

	client := open(t, server.Addr())
	l, err := New(client, Opts{TTL: patience})
	require.NoError(t, err)
	held, err := l.Lock(t.Context(), "a")
	require.NoError(t, err)
	require.Greater(t, held.Token(), token)
	require.EqualValues(t, 1, store.Do(t.Context(), client, []string{"report"}, held.Token()))

	_, err = to.Write([]byte("write\n"))
	require.NoError(t, err)
	require.NoError(t, holder.Process.Signal(syscall.SIGCONT))
	var written, believes string
	_, err = fmt.Fscanln(from, &written, &believes)
	require.NoError(t, err)
	require.Equal(t, []string{"0", "false"}, []string{written, believes})
	require.NoError(t, held.Context().Err())
	require.NoError(t, held.Unlock(t.Context()))
	_ = holder.Wait()
}

// TestHolderProcess runs in the process that TestAStoppedHolder starts and stops.
func TestHolderProcess(t *testing.T) {
	addr := os.Getenv("REDISPIPE_LOCK_HOLDER")
	if addr == "" {
		t.Skip("not started by TestAStoppedHolder")
	}
	client := open(t, addr)
	l, err := New(client, Opts{TTL: stoppedTTL})
	require.NoError(t, err)
	held, err := l.Lock(t.Context(), "a")
	require.NoError(t, err)
	fmt.Println(held.Token())
	var line string
	_, err = fmt.Fscanln(os.Stdin, &line)
	require.NoError(t, err)
	believes := held.Context().Err() == nil
	fmt.Println(store.Do(t.Context(), client, []string{"report"}, held.Token()), believes)
}

// A process that is stopped while it waits holds up the queue for no longer than its place lasts. Afterwards it waits
// again.
func TestAStoppedWaiter(t *testing.T) {
	l := newLine(t)
	by := fairLocker(t, l.server.Addr(), 3*time.Second)
	held, err := by.Lock(t.Context(), "a")
	require.NoError(t, err)
	waiter := exec.Command(os.Args[0], "-test.run=^TestWaiterProcess$")
	waiter.Env = append(os.Environ(), "REDISPIPE_LOCK_WAITER="+l.server.Addr())
	out, err := waiter.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, waiter.Start())
	defer func() { _ = waiter.Process.Kill() }()
	l.await(t, 1)
	require.NoError(t, waiter.Process.Signal(syscall.SIGSTOP))
	require.NoError(t, held.Unlock(t.Context()))
	held, err = by.Lock(t.Context(), "a")
	require.NoError(t, err)

	require.NoError(t, waiter.Process.Signal(syscall.SIGCONT))
	l.await(t, 1)
	require.NoError(t, held.Unlock(t.Context()))
	var token int64
	_, err = fmt.Fscanln(bufio.NewReader(out), &token)
	require.NoError(t, err)
	require.Greater(t, token, held.Token())
	_ = waiter.Wait()
}

// TestWaiterProcess runs in the process that TestAStoppedWaiter starts and stops.
func TestWaiterProcess(t *testing.T) {
	addr := os.Getenv("REDISPIPE_LOCK_WAITER")
	if addr == "" {
		t.Skip("not started by TestAStoppedWaiter")
	}
	held, err := fairLocker(t, addr, 3*time.Second).Lock(t.Context(), "a")
	require.NoError(t, err)
	fmt.Println(held.Token())
	require.NoError(t, held.Unlock(t.Context()))
}
