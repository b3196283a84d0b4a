package pubsub

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// flood is a proxy between a client and a server that sends its own messages to the client: as many
// as the client accepts, which is more than a real server with publishers could send.
type flood struct {
	listener net.Listener
	target   string

	mu     sync.Mutex // guards the fields below, and prevents bytes from being sent in the middle of a message
	client net.Conn   // the last client that has subscribed
	resp3  bool
}

func newFlood(b *testing.B, target string) *flood {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	f := &flood{listener: listener, target: target}
	go func() { // ends with the listener
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go f.relay(client)
		}
	}()
	b.Cleanup(func() { listener.Close() })
	return f
}

func (f *flood) addr() string { return f.listener.Addr().String() }

// relay passes bytes between client and server. It ends when both connections end.
func (f *flood) relay(client net.Conn) {
	server, err := net.Dial("tcp", f.target)
	if err != nil {
		client.Close()
		return
	}
	var resp3 atomic.Bool
	var both sync.WaitGroup
	both.Go(func() {
		defer server.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := client.Read(buf)
			if err != nil {
				return
			}
			upper := bytes.ToUpper(buf[:n])
			if bytes.Contains(upper, []byte("HELLO\r\n$1\r\n3")) {
				resp3.Store(true)
			}
			if bytes.Contains(upper, []byte("\r\nSUBSCRIBE\r\n")) {
				f.mu.Lock()
				f.client, f.resp3 = client, resp3.Load()
				f.mu.Unlock()
			}
			if _, err := server.Write(buf[:n]); err != nil {
				return
			}
		}
	})
	both.Go(func() {
		defer client.Close()
		buf := make([]byte, 64<<10)
		for { // the server's answers are short and arrive as a whole
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			f.mu.Lock()
			_, err = client.Write(buf[:n])
			f.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	both.Wait()
}

// send sends n messages to the client that has subscribed.
func (f *flood) send(n int, channel, payload string) error {
	f.mu.Lock()
	kind := '*'
	if f.resp3 {
		kind = '>'
	}
	client := f.client
	f.mu.Unlock()
	message := fmt.Sprintf("%c3\r\n$7\r\nmessage\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", kind, len(channel), channel, len(payload), payload)
	const chunk = 1000
	messages := bytes.Repeat([]byte(message), chunk)
	for n > 0 {
		part := messages[:len(message)*min(n, chunk)]
		n -= min(n, chunk)
		f.mu.Lock()
		_, err := io.Copy(client, bytes.NewReader(part))
		f.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}
