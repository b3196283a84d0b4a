package chaos

import (
	"strconv"
	"strings"
	"sync"
)

// proxyHead is how many bytes of a request the log keeps: enough for a command, a key and an id.
const proxyHead = 128

// LoggedRequest is one request that reached the proxy, at least in part. If a client reports a
// request as not sent, that is right if, and only if, no byte of the request is in the log.
type LoggedRequest struct {
	// Conn is the number of the connection, from 1. Index is the number of the request on it, from
	// 0.
	Conn, Index int
	// Head is the beginning of the request, at most 128 bytes.
	Head string
	// Arrived counts the bytes that came from the client, and Forwarded those that were written to
	// the server.
	Arrived, Forwarded int64
	// Complete is set if all of the request arrived, and Delivered if all of it was written to the
	// server.
	Complete, Delivered bool
	// Replied is set if the whole reply was written to the client.
	Replied bool
}

// Args returns the command and the arguments of the request, as far as Head contains them.
func (r LoggedRequest) Args() []string { return parseRequest(r.Head) }

// parseRequest returns the arguments that are complete in the beginning of a request.
func parseRequest(rest string) []string {
	var args []string
	if !strings.HasPrefix(rest, "*") {
		return strings.Fields(rest)
	}
	_, rest, _ = strings.Cut(rest, "\r\n")
	for strings.HasPrefix(rest, "$") {
		line, body, _ := strings.Cut(rest[1:], "\r\n")
		n, err := strconv.Atoi(line)
		if err != nil || n < 0 || n > len(body) {
			break
		}
		args = append(args, body[:n])
		rest = strings.TrimPrefix(body[n:], "\r\n")
	}
	return args
}

// proxyEntry is a LoggedRequest that is not complete yet. The log's lock guards it.
type proxyEntry struct {
	LoggedRequest
	head []byte
}

// proxyLog keeps the latest requests.
type proxyLog struct {
	mu      sync.Mutex // guards entries, and what they point to
	limit   int        // number of requests to keep; 0: none
	entries []*proxyEntry
}

func (l *proxyLog) begin(conn, index int) *proxyEntry {
	e := &proxyEntry{LoggedRequest: LoggedRequest{Conn: conn, Index: index}}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) >= l.limit {
		kept := copy(l.entries, l.entries[len(l.entries)-l.limit/2:])
		clear(l.entries[kept:])
		l.entries = l.entries[:kept]
	}
	l.entries = append(l.entries, e)
	return e
}

func (l *proxyLog) arrived(e *proxyEntry, b []byte, complete bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Arrived += int64(len(b))
	e.Complete = complete
	if room := proxyHead - len(e.head); room > 0 {
		e.head = append(e.head, b[:min(room, len(b))]...)
	}
}

func (l *proxyLog) forwarded(e *proxyEntry, n int, delivered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Forwarded += int64(n)
	e.Delivered = e.Delivered || delivered
}

func (l *proxyLog) replied(e *proxyEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Replied = true
}

// take returns a copy of the log. If forget is set, it also empties the log.
func (l *proxyLog) take(forget bool) []LoggedRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]LoggedRequest, len(l.entries))
	for i, e := range l.entries {
		out[i] = e.LoggedRequest
		out[i].Head = string(e.head)
	}
	if forget {
		l.entries = nil
	}
	return out
}
