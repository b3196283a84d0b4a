package rediscluster

import (
	"context"
	"net"
	"sort"
	"sync"

	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// resolveHosts resolves addresses (host:port). It returns the IPs with their ports, each mapped to
// the host that it comes from. If it can't resolve a name before ctx is done, it uses
// the IPs in known.
func (c *Cluster) resolveHosts(ctx context.Context, addrs []string, known map[string]string) map[string]string {
	found := make([][]string, len(addrs))
	var all sync.WaitGroup
	for i, addr := range addrs {
		all.Go(func() { found[i] = c.resolveHost(ctx, addr, known) })
	}
	all.Wait()
	hosts := make(map[string]string)
	for i, addr := range addrs {
		host, _, _ := net.SplitHostPort(addr)
		for _, ip := range found[i] {
			if hosts[ip] == "" {
				hosts[ip] = host
			}
		}
	}
	return hosts
}

func (c *Cluster) resolveHost(ctx context.Context, addr string, known map[string]string) (found []string) {
	host, found, err := lookUp(ctx, addr)
	if err == nil {
		return found
	}
	c.report(LogInitialNodeSkipped{addr, err})
	_, port, _ := net.SplitHostPort(addr)
	for ip, name := range known {
		if _, p, _ := net.SplitHostPort(ip); name == host && p == port {
			found = append(found, ip)
		}
	}
	return found
}

// lookUp returns the host of an address (host:port), and at least one IP of the host, with the
// port. IPv4 addresses come first.
func lookUp(ctx context.Context, addr string) (host string, found []string, err error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", nil, ErrAddressHostname.Wrap(err, "address is not host:port").WithProperty(redis.EKAddress, addr)
	}
	if redisclusterutil.IsIPAddress(host) {
		return host, []string{addr}, nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	switch {
	case ctx.Err() != nil:
		return host, nil, redis.ErrContextClosed.Wrap(lifetime.Reason(ctx), "address is not resolved in time")
	case err != nil:
		return host, nil, ErrAddressNotResolved.Wrap(err, "address is not resolved").WithProperty(redis.EKAddress, addr)
	}
	sort.SliceStable(ips, func(i, j int) bool { return ips[i].Unmap().Is4() && !ips[j].Unmap().Is4() })
	for _, ip := range ips {
		found = append(found, net.JoinHostPort(ip.Unmap().String(), port))
	}
	return host, found, nil
}
