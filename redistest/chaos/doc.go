// Package chaos breaks networks and servers on purpose, in tests and drills, for clients in any
// language. A [Proxy] stands in front of a real server and does what a [Fault] says: it cuts, delays,
// loses and alters the traffic at an exact place, or refuses requests. Presets such as [Freeze] and
// [Loading] are faults that services meet in production:
//
//	proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{})
//	db, err := redispipe.Open(ctx, "redis://"+proxy.Addr())
//	…
//	proxy.Arm(chaos.Freeze())
//	… // what does the service do now?
//	proxy.Heal()
//
// A [ScriptedServer] is a server of its own, which answers with any bytes. Program redischaos, in the
// folder below, is the proxy for services that are not tests, or not written in Go.
//
// Package redistest/ledger checks what a client reports about its requests under faults.
package chaos
