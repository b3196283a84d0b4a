package dial

import (
	"net"
	"strconv"
	"strings"

	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/redis"
)

// Address is where a server listens.
type Address struct {
	Text    string // as given
	network string // "tcp" or "unix"
	addr    string // host:port or a path
	host    string // for TLS; empty for unix sockets
}

// ParseEndpoint parses the address that a server moves to, which must be host:port.
func ParseEndpoint(text string) (Address, error) {
	a, err := ParseAddress(text)
	if err == nil && a.addr != text || a.network == "unix" {
		err = ErrAddress.New("address is not host:port")
	}
	return a, err
}

// ParseAddress parses an address. It does not resolve names. Its errors do not contain the text,
// because it may hold a password.
func ParseAddress(text string) (Address, error) {
	a := Address{Text: text, network: "tcp", addr: text}
	switch scheme, rest, found := strings.Cut(text, "://"); {
	case text == "":
		return a, redis.ErrNoAddressProvided.New("address is empty")
	case redisurl.MayHoldSecret(text):
		return a, ErrAddress.New("address is not host:port, tcp://host:port, unix://path or a path: URLs are for ParseURL")
	case found && scheme == "unix":
		a.network, a.addr = "unix", rest
	case found:
		a.addr = rest
	case text[0] == '.' || text[0] == '/':
		a.network = "unix"
	}
	if a.network == "unix" {
		if a.addr == "" || strings.ContainsRune(a.addr, 0) {
			return a, ErrAddress.New("address has no valid path")
		}
		return a, nil
	}
	host, port, err := net.SplitHostPort(a.addr)
	if err != nil {
		return a, ErrAddress.New("address is not host:port")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return a, ErrAddress.New("address has no port from 1 to 65535")
	}
	a.host = host
	return a, nil
}
