package errs

import (
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/require"
)

// An error passes several layers that could explain it, but is explained only once.
func TestExplainedOnce(t *testing.T) {
	for _, err := range []*errorx.Error{
		ErrIO.Wrap(io.EOF, "reading"),
		ErrIO.Wrap(os.NewSyscallError("read", syscall.ECONNRESET), "reading"),
		ErrResult.New("upstream failure"),
		ErrResult.New("ERR Protocol error: invalid bulk length"),
		ErrMoved.New("MOVED 1 127.0.0.1:1"),
		ErrReadOnly.New("READONLY You can't write against a read only replica."),
	} {
		once := Advised(Proxied(err, true), true)
		require.NotEqual(t, err.Message(), once.Message())
		require.Equal(t, once.Message(), Advised(Proxied(once, true), true).Message())
	}
}
