package engine_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// slowly is a server that answers GET with a value of size bytes, in chunks with pauses between them.
func slowly(size, chunk int, every time.Duration) *pipes {
	p := &pipes{}
	p.Answer = func(args []string) string {
		switch args[0] {
		case "PING":
			return pong(args)
		case "GET":
		default:
			return "+OK\r\n"
		}
		conn, value := p.LastConn(), bulk(string(make([]byte, size)))
		for len(value) > chunk {
			if _, err := conn.Write([]byte(value[:chunk])); err != nil {
				return ""
			}
			value = value[chunk:]
			time.Sleep(every)
		}
		return value
	}
	return p
}

// A connection survives a large value over a slow link, but not a server that sends single bytes.
func TestIOTimeoutIsAboutProgress(t *testing.T) {
	for _, c := range []struct {
		name  string
		chunk int
		every time.Duration
		lives bool
	}{
		{"slow link", 16 << 10, 200 * time.Millisecond, true},
		{"fast link", 64 << 10, 10 * time.Millisecond, true},
		{"trickle", 1, 10 * time.Millisecond, false},
		{"trickle of more", 1 << 10, 100 * time.Millisecond, false},
		{"link too slow", 8 << 10, 200 * time.Millisecond, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				const size = 1 << 20
				conn, log := connectPipes(t, slowly(size, c.chunk, c.every), redisconn.Opts{IOTimeout: time.Second})
				future := sendTo(conn, "GET", "a")
				res := <-future.Result
				if c.lives {
					require.Len(t, res, size)
					require.Zero(t, log.Count("Disconnected"))
				} else {
					requireUnknown(t, res, redis.ErrIO)
				}
			})
		})
	}
}

// slowConn is a socket that takes bytes at a limited rate, in bytes per second.
type slowConn struct {
	net.Conn
	rate int
}

func (c slowConn) Write(p []byte) (int, error) {
	time.Sleep(time.Duration(len(p)) * time.Second / time.Duration(c.rate))
	return c.Conn.Write(p)
}

// Writing a value may take longer than IOTimeout, if the socket takes some bytes in each IOTimeout.
// This holds for each kind of socket.
func TestIOTimeoutIsAboutWritesToo(t *testing.T) {
	value := strings.Repeat("x", 4<<20)
	for name, write := range map[string]func(*testing.T, *redisconn.Connection){
		"shared": func(t *testing.T, conn *redisconn.Connection) {
			require.Equal(t, "OK", redis.Sync{S: conn}.Do("SET", "key", value))
		},
		"dedicated": func(t *testing.T, conn *redisconn.Connection) {
			require.NoError(t, redis.WithSession(t.Context(), conn, "", func(s *redis.Session) error {
				return redis.AsError(s.Do("SET", "key", value))
			}))
		},
		"stream": func(t *testing.T, conn *redisconn.Connection) {
			require.Equal(t, "OK", conn.DoStream(t.Context(), nil, "SET", "key", value))
		},
		"push": func(t *testing.T, conn *redisconn.Connection) {
			socket, err := conn.OpenPush(t.Context())
			require.NoError(t, err)
			defer socket.Close()
			require.NoError(t, socket.Send(redis.Req("SUBSCRIBE", value)))
			reply, _, err := socket.Receive(new(redis.Push))
			require.NoError(t, err)
			require.Equal(t, "OK", reply)
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				p := &pipes{}
				log := &recorder{}
				conn, err := redisconn.Connect(t.Context(), "pipe:1", redisconn.Opts{
					IOTimeout: time.Second, Logger: log,
					Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
						conn, err := p.Dial(ctx, network, addr)
						return slowConn{conn, 1 << 20}, err
					},
				})
				require.NoError(t, err)
				began := time.Now()
				write(t, conn)
				require.Greater(t, time.Since(began), 3*time.Second)
				require.Zero(t, log.Count("Disconnected"))
				conn.Close()
				time.Sleep(time.Minute) // all goroutines end by then
			})
		})
	}
}

// A long batch of short commands may take longer than IOTimeout, because each answer is progress.
func TestIOTimeoutIsAboutAnswers(t *testing.T) {
	for _, integrity := range []bool{false, true} {
		virtualtime.Run(t, func(t *testing.T) {
			p := &pipes{Answer: func(args []string) string {
				if args[0] == "PING" {
					return pong(args)
				}
				time.Sleep(2 * time.Millisecond)
				return ":1\r\n"
			}}
			conn, log := connectPipes(t, p, redisconn.Opts{IOTimeout: time.Second, Integrity: integrity})
			reqs := slices.Repeat([]redis.Request{redis.Req("EVAL", "busy for 2 ms", 0)}, 3000)
			for _, res := range (redis.Sync{S: conn}).SendMany(reqs) {
				require.Equal(t, int64(1), res)
			}
			require.Zero(t, log.Count("Disconnected"))
		})
	}
}

// If the server stops answering in the middle of a long batch of short commands, the connection
// fails.
func TestIOTimeoutBehindAnswers(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		answered := 0
		p := &pipes{Answer: func(args []string) string {
			switch {
			case answered >= 1000:
				time.Sleep(time.Minute)
				return ""
			case args[0] == "PING":
				return pong(args)
			}
			answered++
			time.Sleep(2 * time.Millisecond)
			return ":1\r\n"
		}}
		conn, _ := connectPipes(t, p, redisconn.Opts{IOTimeout: time.Second})
		began := time.Now()
		results := redis.Sync{S: conn}.SendMany(slices.Repeat([]redis.Request{redis.Req("EVAL", "busy for 2 ms", 0)}, 3000))
		require.Equal(t, int64(1), results[999])
		requireUnknown(t, results[1000], redis.ErrIO)
		require.InDelta(t, 3*time.Second, time.Since(began), float64(500*time.Millisecond))
		conn.Close()
		time.Sleep(time.Hour) // the server's goroutine ends by then
	})
}

// A dedicated connection follows the same rules as the shared one: it survives a slow link, and
// fails if the server sends single bytes.
func TestIOTimeoutOfDedicatedIsAboutProgress(t *testing.T) {
	const size = 1 << 20
	for _, c := range []struct {
		name  string
		chunk int
		every time.Duration
		lives bool
	}{
		{"slow link", 16 << 10, 200 * time.Millisecond, true},
		{"trickle", 1, 10 * time.Millisecond, false},
		{"link too slow", 8 << 10, 200 * time.Millisecond, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				conn, _ := connectPipes(t, slowly(size, c.chunk, c.every), redisconn.Opts{IOTimeout: time.Second})
				var res any
				_ = redis.WithSession(t.Context(), conn, "", func(s *redis.Session) error {
					res = s.Do("GET", "a")
					return nil
				})
				if c.lives {
					require.Len(t, res, size)
				} else {
					requireUnknown(t, res, redis.ErrIO)
				}
			})
		})
	}
}
