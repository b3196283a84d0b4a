package torture

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/joomcode/redispipe/testbed"
)

// Monitor records what clients write on a server, with MONITOR.
type Monitor struct {
	conn   net.Conn
	ended  chan struct{}
	writes []MonitoredWrite // used only by run until run has ended
}

// MonitoredWrite is a write command of a client.
type MonitoredWrite struct {
	// At is when the command ran, by the server's clock.
	At time.Time
	// From is the address of the client's socket.
	From string
	// Args are the words of the command, without quotes.
	Args []string
}

// StartMonitor starts to record the writes on a server that answers. Call Stop.
func StartMonitor(s *testbed.Server) (*Monitor, error) {
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		return nil, err
	}
	m := &Monitor{conn: conn, ended: make(chan struct{})}
	in := bufio.NewReader(conn)
	answer := ""
	if _, err = conn.Write([]byte("MONITOR\r\n")); err == nil {
		answer, err = in.ReadString('\n')
	}
	if err == nil && answer != "+OK\r\n" {
		err = fmt.Errorf("torture: MONITOR: %s", strings.TrimSpace(answer))
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	go m.run(in)
	return m, nil
}

// run is a goroutine that reads until Stop is called, or until the server closes the connection.
func (m *Monitor) run(in *bufio.Reader) {
	defer close(m.ended)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if w, ok := parseMonitored(line); ok {
			m.writes = append(m.writes, w)
		}
	}
}

// parseMonitored parses a line such as +1700000000.123456 [0 127.0.0.1:5000] "SET" "key" "1".
func parseMonitored(line string) (w MonitoredWrite, ok bool) {
	fields := strings.Fields(strings.TrimPrefix(line, "+"))
	if len(fields) < 4 {
		return w, false
	}
	seconds, err := strconv.ParseFloat(fields[0], 64)
	w.At, w.From = time.UnixMicro(int64(seconds*1e6)), strings.TrimSuffix(fields[2], "]")
	for _, word := range fields[3:] {
		w.Args = append(w.Args, strings.Trim(word, `"`))
	}
	switch strings.ToUpper(w.Args[0]) {
	case "SET", "RPUSH", "INCR":
		return w, err == nil && w.From != "lua"
	}
	return w, false
}

// Ended returns a channel that is closed when the server has closed the connection, or after Stop.
func (m *Monitor) Ended() <-chan struct{} { return m.ended }

// Stop ends the recording, and returns the writes.
func (m *Monitor) Stop() []MonitoredWrite {
	m.conn.Close()
	<-m.ended
	return m.writes
}
