package rediscluster

import (
	"cmp"
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
// the IPs in known, and returns the error of the first such name.
func (c *Cluster) resolveHosts(ctx context.Context, addrs []string, known map[string]string) (hosts map[string]string, failure error) {
	found, failures := make([][]string, len(addrs)), make([]error, len(addrs))
	var all sync.WaitGroup
	for i, addr := range addrs {
		all.Go(func() { found[i], failures[i] = c.resolveHost(ctx, addr, known) })
	}
	all.Wait()
	hosts = make(map[string]string)
	for i, addr := range addrs {
		host, _, _ := net.SplitHostPort(addr)
		for _, ip := range found[i] {
			if hosts[ip] == "" {
				hosts[ip] = host
			}
		}
	}
	for _, err := range failures {
		failure = cmp.Or(failure, err)
	}
	return hosts, failure
}

func (c *Cluster) resolveHost(ctx context.Context, addr string, known map[string]string) (found []string, failure error) {
	host, found, err := c.lookUp(ctx, addr)
	if err == nil {
		return found, nil
	}
	c.report(LogInitialNodeSkipped{addr, err})
	_, port, _ := net.SplitHostPort(addr)
	for ip, name := range known {
		if _, p, _ := net.SplitHostPort(ip); name == host && p == port {
			found = append(found, ip)
		}
	}
	return found, err
}

// lookUp returns the host of an address (host:port), and at least one IP of the host, with the
// port. IPv4 addresses come first. With a HostOpts.Dialer it resolves nothing: the Dialer gets the address.
func (c *Cluster) lookUp(ctx context.Context, addr string) (host string, found []string, err error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", nil, ErrAddressHostname.Wrap(err, "address is not host:port").WithProperty(redis.EKAddress, addr)
	}
	if c.opts.HostOpts.Dialer != nil || redisclusterutil.IsIPAddress(host) {
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
