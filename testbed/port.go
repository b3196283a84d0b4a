package testbed

import "errors"

// port is a TCP port of 127.0.0.1 that is kept for one server, also while that
// is down, as far as the system allows: see reserve.
type port struct {
	num     int
	release func()
}

// portSet holds the ports of a server. tls and bus are zero where not needed.
type portSet struct{ plain, tls, bus port }

// busOffset is where versions before 7 have the cluster bus, relative to the
// port for clients.
const busOffset = 10000

// reservePorts picks free ports for a server with these options.
func reservePorts(o Options, v version) (portSet, error) {
	set, err := reserveOnce(o, v)
	// A fixed offset can miss: 20 attempts all do about never.
	for i := 0; err != nil && i < 20; i++ {
		set, err = reserveOnce(o, v)
	}
	return set, err
}

func reserveOnce(o Options, v version) (set portSet, err error) {
	if set.plain, err = reserve(0); err != nil {
		return set, err
	}
	if o.TLS {
		if set.tls, err = reserve(0); err != nil {
			set.releaseAll()
			return set, err
		}
	}
	if o.cluster > 0 {
		bus := 0
		if v.major < 7 {
			base := set.plain.num
			if o.TLS {
				base = set.tls.num
			}
			if bus = base + busOffset; bus > 65535 {
				set.releaseAll()
				return set, errors.New("testbed: no room for a cluster bus port")
			}
		}
		if set.bus, err = reserve(bus); err != nil {
			set.releaseAll()
		}
	}
	return set, err
}

// releaseAll gives the ports back.
func (p portSet) releaseAll() {
	for _, one := range []port{p.plain, p.tls, p.bus} {
		if one.release != nil {
			one.release()
		}
	}
}
