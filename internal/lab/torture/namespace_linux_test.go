package torture

import (
	"os"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// inNamespace is an environment variable that is set in the process with its own network.
const inNamespace = "TORTURE_NAMESPACE"

// T6: the network itself swallows everything. The kernel no longer has a route, and no socket gets
// an error.
func TestT6NoRoute(t *testing.T) {
	beside(t)
	if os.Getenv(inNamespace) == "" {
		runInNamespace(t)
		return
	}
	setLoopback(t, true)
	r := newRig(t, RigOpts{Conn: blackHoleOpts()})
	for _, busy := range []bool{false, true} {
		t.Logf("busy %v", busy)
		noticesBlackHole(t, r, busy, func() { setLoopback(t, false) }, func() { setLoopback(t, true) })
	}
	judge(t, r)
}

// runInNamespace runs the calling test again, in a process with its own network.
func runInNamespace(t *testing.T) {
	cmd := again(t, inNamespace)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if len(out) == 0 && err != nil {
		t.Skipf("the system lets nobody make a network namespace: %v", err)
	}
	t.Logf("%s", out)
	require.NoError(t, err)
}

// setLoopback turns the loopback interface on or off.
func setLoopback(t *testing.T, up bool) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	require.NoError(t, err)
	defer syscall.Close(fd)
	request := struct { // struct ifreq of netdevice(7)
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{name: [syscall.IFNAMSIZ]byte{'l', 'o'}}
	if up {
		request.flags = syscall.IFF_UP
	}
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request)))
	require.Zero(t, errno, "%v", errno)
}
