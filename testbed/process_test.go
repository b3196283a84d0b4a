package testbed

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runHelper returns a command that runs this test binary as helperMain.
func runHelper(t *testing.T, mode string, env ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), "TESTBED_HELPER="+mode), env...)
	return cmd
}

// helperMain is the main function of a process that a test starts.
func helperMain(mode string) {
	switch mode {
	case "require":
		RequireRedis()
	case "orphan":
		started := make(chan *Server, 1)
		runtime.LockOSThread() // keeps the main thread, which never ends, from being used below
		go func() {
			runtime.LockOSThread() // the thread ends with this goroutine
			s, err := Start(Options{})
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			started <- s
		}()
		s := <-started
		for range 200 { // waits until the thread has ended
			if res := s.Do("PING"); res != "PONG" {
				fmt.Println(res)
				os.Exit(1)
			}
		}
		fmt.Println(s.Addr(), s.dir)
		select {} // until the test kills this process
	}
	os.Exit(0)
}

func TestServerDiesWithItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties a child's life to its parent's")
	}
	cmd := runHelper(t, "orphan")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	words := strings.Fields(line)
	require.Len(t, words, 2, line)
	addr, dir := words[0], words[1]
	defer os.RemoveAll(dir)

	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err, "the server outlives the thread of its caller")
	_ = conn.Close()
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	assert.True(t, waitFor(time.Minute, pollEvery, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}), "the server is still there")
}

// Each server has a goroutine, which ends with the server.
func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		s, err := Start(Options{})
		require.NoError(t, err)
		s.Close()
	}
	assert.True(t, waitFor(time.Minute, pollEvery, func() bool {
		return runtime.NumGoroutine() <= before
	}), "%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func TestSpawnFails(t *testing.T) {
	_, err := spawn(filepath.Join(t.TempDir(), "log"), t.TempDir(), "/no/such/binary")
	assert.ErrorContains(t, err, "/no/such/binary")
	_, err = spawn("/no/such/dir/log", t.TempDir(), "true")
	assert.Error(t, err)
}

func TestFileTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("0123456789"), 0o600))
	assert.Equal(t, "0123456789", fileTail(path, 0, 100))
	assert.Equal(t, "789", fileTail(path, 0, 3))
	assert.Equal(t, "89", fileTail(path, 8, 3))
	assert.Contains(t, fileTail(path+"x", 0, 3), "no such file")
}
