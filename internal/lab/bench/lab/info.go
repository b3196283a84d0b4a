package lab

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Info is the sum of the servers' INFO.
type Info struct {
	// CPU is the processor time used by the server's process.
	CPU time.Duration
	// Commands is the number of processed commands. Reads is the number of reads from clients'
	// sockets.
	Commands, Reads float64
	// Clients is the number of open connections, including ours.
	Clients float64
}

// Sub returns the differences from before. It does not count the INFO that was sent to each server.
func (i Info) Sub(before Info, servers int) Info {
	return Info{
		CPU:      i.CPU - before.CPU,
		Commands: i.Commands - before.Commands - float64(servers),
		Reads:    i.Reads - before.Reads - float64(servers),
		Clients:  i.Clients - before.Clients,
	}
}

// Control is a plain connection to each of several servers. One goroutine at a time may use it.
type Control struct{ conns []*controlConn }

type controlConn struct {
	net.Conn
	r *bufio.Reader
}

// Dial connects to servers without TLS and password.
func Dial(addrs []string) (*Control, error) {
	c := &Control{}
	for _, a := range addrs {
		conn, err := net.DialTimeout("tcp", a, 5*time.Second)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.conns = append(c.conns, &controlConn{conn, bufio.NewReader(conn)})
	}
	return c, nil
}

// Close ends the connections.
func (c *Control) Close() {
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

// Do sends a command of plain words to every server and returns the answers.
func (c *Control) Do(command string) ([]string, error) {
	var out []string
	for _, conn := range c.conns {
		answer, err := conn.do(command)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", command, err)
		}
		out = append(out, answer)
	}
	return out, nil
}

// Info asks every server.
func (c *Control) Info() (Info, error) {
	var sum Info
	answers, err := c.Do("INFO")
	for _, a := range answers {
		f := fields(a)
		seconds := f["used_cpu_sys"] + f["used_cpu_user"]
		sum.CPU += time.Duration(seconds * float64(time.Second))
		sum.Commands += f["total_commands_processed"]
		sum.Reads += f["total_reads_processed"]
		sum.Clients += f["connected_clients"]
	}
	return sum, err
}

// do parses only statuses, errors and bulk strings, which is all that is needed here.
func (c *controlConn) do(command string) (string, error) {
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c, command+"\r\n"); err != nil {
		return "", err
	}
	line, err := c.r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(line, "$"):
		n, err := strconv.Atoi(line[1:])
		if err != nil || n < 0 {
			return "", fmt.Errorf("answer %q", line)
		}
		body := make([]byte, n+2)
		_, err = io.ReadFull(c.r, body)
		return string(body[:n]), err
	case strings.HasPrefix(line, "-"), line == "":
		return "", fmt.Errorf("answer %q", line)
	}
	return line[1:], nil
}

// fields returns the numbers in the answer to INFO.
func fields(info string) map[string]float64 {
	out := map[string]float64{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			out[name] = v
		}
	}
	return out
}

// Version returns the version of the server.
func (c *Control) Version() string {
	answers, err := c.Do("INFO server")
	if err != nil || len(answers) == 0 {
		return "unknown"
	}
	for line := range strings.Lines(answers[0]) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "redis_version:"); ok {
			return v
		}
	}
	return "unknown"
}
