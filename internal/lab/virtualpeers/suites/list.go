package main

import "slices"

// suite has the published tests of a module.
type suite struct {
	name, module string
	packages     []string
	// run and skip are flags of go test. specsSkipped is a flag of Ginkgo, for tests that are
	// specs.
	run, skip, specsSkipped string
	// protocol is the version of RESP on the shared connection.
	protocol int
	edits    []edit
	servers  []server
	// differs has the tests that end differently over virtual connections, with the reason for
	// each.
	differs map[string]string
}

// edit is a change of a file. It replaces every occurrence of old by new. There must be at least
// one.
type edit struct{ file, old, new string }

// one is the server that most suites want.
var one = []server{{port: 6379}}

// library returns the suite of a library that is built on go-redis. It uses the changed copy of
// go-redis that the suite goredis has made.
func library(name, module string) suite {
	return suite{name: name, module: module, packages: []string{"."}, protocol: 3, servers: one}
}

func suites() []suite {
	asynq := library("asynq", "github.com/hibiken/asynq")
	asynq.packages = []string{".", "./internal/rdb"}
	asynq.skip = "^TestParseOption$" // the names of the test's cases contain the time
	redsync := library("redsync", "github.com/go-redsync/redsync/v4")
	redsync.run = "/goredis_v9|/redigo|Script|Error"
	redsync.servers = nil // redsync starts its own servers, on ports that the system may also give to clients
	redsync.edits = []edit{{"redsync_test.go", "51200", "21200"}}
	return []suite{
		goredis(),
		asynq,
		library("redislock", "github.com/bsm/redislock"),
		library("redis_rate", "github.com/go-redis/redis_rate/v10"),
		redsync,
		{
			name: "redigo", module: "github.com/gomodule/redigo", packages: []string{"./redis"}, protocol: 2, servers: one,
			edits: []edit{{
				"redis/conn.go",
				"	if do.dialContext == nil {\n",
				"	if do.dialContext == nil && !do.useTLS {\n" +
					"		do.dialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {\n" +
					"			return VirtualDial(ctx, network, addr, do.db)\n		}\n	}\n" +
					"	if do.dialContext == nil {\n",
			}},
		},
		{
			name: "radix", module: "github.com/mediocregopher/radix/v4", packages: []string{"."}, protocol: 2, servers: one,
			skip: "Cluster|Sentinel|TLS|TestConnDeadlineExceeded",
			edits: []edit{
				{"conn.go", "		d.NetDialer = new(net.Dialer)\n", "		d.NetDialer = virtualDialer{}\n"},
				{"conn.go", "func (d Dialer) withDefaults() Dialer {", "type virtualDialer struct{}\n\n" +
					"func (virtualDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {\n" +
					"	return VirtualDial(ctx, network, addr, 0)\n}\n\n" +
					"func (d Dialer) withDefaults() Dialer {"},
			},
		},
	}
}

const nameless = "it looks for the name of a connection in CLIENT LIST, where only the shared one is"

func goredis() suite {
	s := suite{
		name: "goredis", module: "github.com/redis/go-redis/v9", packages: []string{"."}, protocol: 3,
		run: "^TestGinkgoSuite$",
		// The last but one looks for a name that sockets of the previous spec may still have. The
		// last one passes over virtual connections only after a spec that has opened the shared
		// connection to its database.
		specsSkipped: "RediSearch|JSON|TimeSeries|Probabilistic|VectorSet|E2E|Sentinel|Ring|TLS|sentinel cluster client setname|" +
			"initialize idle connections created by MinIdleConns",
		edits: []edit{{
			"options.go",
			"	if opt.Dialer == nil {\n		opt.Dialer = NewDialer(opt)\n",
			"	if opt.Dialer == nil && opt.TLSConfig == nil {\n" +
				"		opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {\n" +
				"			return VirtualDial(ctx, network, addr, opt.DB)\n		}\n	}\n" +
				"	if opt.Dialer == nil {\n		opt.Dialer = NewDialer(opt)\n",
		}, { // two specs fail in separate goroutines, which would end the suite
			"osscluster_test.go",
			"				val, err := c.ClientList(ctx).Result()\n",
			"				defer GinkgoRecover()\n				val, err := c.ClientList(ctx).Result()\n",
		}, {
			"redis_test.go",
			"				// Each goroutine performs multiple operations\n",
			"				defer GinkgoRecover()\n",
		}},
		servers: slices.Clone(one),
		differs: map[string]string{
			"Client / should client setname":                                 nameless,
			"ClusterClient / ClusterClient / should cluster client setname":  nameless,
			"Commands / server / should ClientKillByFilter with kill myself": nameless,
			"Commands / server / should Wait":                                "WAIT is refused, since it knows nothing of the writes of another connection",
		},
	}
	for _, port := range []int{6390, 6391, 6392, 9121, 9122, 9123} {
		s.servers = append(s.servers, server{port: port})
	}
	for port := 16600; port <= 16605; port++ {
		s.servers = append(s.servers, server{port: port, args: []string{"--cluster-enabled", "yes"}})
	}
	for port := 26379; port <= 26381; port++ {
		s.servers = append(s.servers, server{port: port, sentinel: true})
	}
	return s
}
