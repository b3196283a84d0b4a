package h2h

import (
	"strconv"
	"strings"
	"time"

	"github.com/joomcode/redispipe/internal/lab/faulty"
)

// hostileCall is the deadline of a call, hostileWait when it counts as hung.
const (
	hostileCall = 1500 * time.Millisecond
	hostileWait = 2500 * time.Millisecond
)

var hostile = scenario{
	id: "H3",
	text: "Replies that no server should send, to a GET with a deadline of 1.5 s, each on a server of its own; " +
		"the process may have 1 GiB. None of them is a valid reply to a GET.",
	columns: []string{"replies", "refused", "process died", "taken as value", "hung past 2.5 s"},
	stage: func() (*stage, error) {
		// One server plays all replies: the key that is asked for names one.
		server, err := faulty.ListenScripted(faulty.ScriptedOpts{Handler: playHostile})
		if err != nil {
			return nil, err
		}
		return &stage{addr: server.Addr(), direct: server.Addr(), close: server.Close}, nil
	},
	act: askForHostile,
}

// hostileReply is one of the list.
type hostileReply struct {
	name string
	head string
	// fill is repeated until size bytes are out.
	fill string
	size int64
	// open keeps the connection open after it; others are cut short.
	open bool
}

// hostileReplies are all of them. After the last one, heartbeats are answered:
// to the client it is a reply that was lost.
func hostileReplies() []hostileReply {
	return []hostileReply{
		{name: "bulk of 2⁶³-1", head: "$9223372036854775807\r\n", open: true},
		{name: "bulk of 2⁶²", head: "$4611686018427387904\r\n", open: true},
		{name: "bulk of 2³¹-1", head: "$2147483647\r\n", open: true},
		{name: "bulk of 8 GiB, truncated", head: "$8589934592\r\nabc"},
		{name: "array of 2³¹-1", head: "*2147483647\r\n", open: true},
		{name: "array of 2⁶³-1", head: "*9223372036854775807\r\n", open: true},
		{name: "array of 10⁹, truncated", head: "*1000000000\r\n:1\r\n"},
		{name: "map of 2⁶²", head: "%4611686018427387904\r\n", open: true},
		{name: "set of 2⁶³-1", head: "~9223372036854775807\r\n", open: true},
		{name: "push of 2⁶³-1", head: ">9223372036854775807\r\n", open: true},
		{name: "10⁷ nested arrays", fill: "*1\r\n", size: 40_000_000},
		{name: "10⁷ nested maps", fill: "%1\r\n+k\r\n", size: 80_000_000},
		{name: "wide and nested", fill: "*1000000\r\n", size: 100_000},
		{name: "line of 2 GiB without an end", head: "+", fill: "xxxxxxxxxxxxxxxx", size: 2 << 30},
		{name: "length of 10⁷ digits", head: "$", fill: "9", size: 10_000_000},
		{name: "bulk of -2", head: "$-2\r\n", open: true},
		{name: "array of -2", head: "*-2\r\n", open: true},
		{name: "bulk of -9223372036854775808", head: "$-9223372036854775808\r\n", open: true},
		{name: "bulk of +3", head: "$+3\r\nabc\r\n", open: true},
		{name: "bulk of “3 ”", head: "$3 \r\nabc\r\n", open: true},
		{name: "bulk of 0x3", head: "$0x3\r\nabc\r\n", open: true},
		{name: "bulk without a length", head: "$\r\n", open: true},
		{name: "bulk longer than said", head: "$3\r\nabcdef\r\n", open: true},
		{name: "bulk ended by XX", head: "$3\r\nabcXX", open: true},
		{name: "bulk truncated", head: "$10\r\nabc"},
		{name: "array truncated", head: "*3\r\n:1\r\n"},
		{name: "line truncated", head: "+OK"},
		{name: "line ended by LF", head: "+OK\n", open: true},
		{name: "CR in a line", head: "+a\rb\r\n", open: true},
		{name: "integer “12a”", head: ":12a\r\n", open: true},
		{name: "integer of 30 digits", head: ":123456789012345678901234567890\r\n", open: true},
		{name: "empty integer", head: ":\r\n", open: true},
		{name: "unknown type", head: "&3\r\nabc\r\n", open: true},
		{name: "no type", head: "\r\n", open: true},
		{name: "zeros", fill: "\x00", size: 1 << 20},
		{name: "HTTP", head: "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"},
		{name: "boolean “x”", head: "#x\r\n", open: true},
		{name: "double “abc”", head: ",abc\r\n", open: true},
		{name: "null “_x”", head: "_x\r\n", open: true},
		{name: "big number “(x”", head: "(x\r\n", open: true},
		{name: "verbatim of 2 bytes", head: "=2\r\nab\r\n", open: true},
		{name: "pushes without end", fill: ">2\r\n+invalidate\r\n_\r\n", size: 256 << 20},
		{name: "attributes without end", fill: "|1\r\n+k\r\n+v\r\n", size: 256 << 20},
		{name: "attributes nested", fill: "|1\r\n", size: 40_000_000},
		{name: "streamed bulk without end", head: "$?\r\n", fill: ";4\r\nabcd\r\n", size: 64 << 20},
		{name: "streamed array without end", head: "*?\r\n", fill: ":1\r\n", size: 64 << 20},
		{name: "end before any byte"},
		{name: "nothing, though what follows is answered", open: true},
	}
}

const hostileKey = "hostile:"

// playHostile answers GET hostile:N with reply N, and the rest with OK.
func playHostile(c *faulty.ScriptedConn, r faulty.ScriptedRequest) error {
	i := indexOf(r.Args)
	if r.Cmd != "GET" || i < 0 {
		_, err := c.Write([]byte("+OK\r\n"))
		return err
	}
	h := hostileReplies()[i]
	if h.size > 0 {
		if err := faulty.ScriptedHuge(h.head, h.fill, h.size, "")(c, r); err != nil {
			return err
		}
	} else if err := faulty.ScriptedReplies(h.head)(c, faulty.ScriptedRequest{}); err != nil {
		return err
	}
	if !h.open {
		c.Close()
	}
	return nil
}

// indexOf finds the number of the reply in the arguments, -1 if there is none.
func indexOf(args []string) int {
	if len(args) == 0 {
		return -1
	}
	text, ok := strings.CutPrefix(args[0], hostileKey)
	if !ok {
		return -1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n >= len(hostileReplies()) {
		return -1
	}
	return n
}
