package redisclusterutil

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/redis"
)

// Resolve resolves the host of an address (host:port), and returns ip:port. If the host is an IP, it
// returns the address in canonical form. It may query the DNS, without a time-out.
func Resolve(addr string) (string, error) {
	host, err := GetHost(addr)
	if err != nil {
		return "", err
	}
	if host == "" {
		return "", redis.ErrNoAddressProvided.New("address %q has no host", addr)
	}
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return "", err
	}
	return tcp.String(), nil
}

// GetHost returns the host of a host:port address, without brackets for IPv6. If the address
// may be a URL, it returns a [redis.ErrURL], which does not show the address.
func GetHost(addr string) (string, error) {
	if redisurl.MayHoldSecret(addr) {
		return "", redis.ErrURL.New("address is not host:port")
	}
	host, _, err := net.SplitHostPort(addr)
	return host, err
}

// IsIPAddress reports whether addr, or its host if it is host:port, is an IP.
func IsIPAddress(addr string) bool {
	if host, err := GetHost(addr); err == nil {
		addr = host
	}
	_, err := netip.ParseAddr(strings.Trim(addr, "[]"))
	return err == nil
}

// joinHostPort writes host:port, with brackets around an IPv6 host.
func joinHostPort(host string, port int) string {
	return net.JoinHostPort(host, strconv.Itoa(port))
}
