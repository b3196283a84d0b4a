// Package torture breaks networks and servers under a client, and lets the oracle judge the client.
// It has the reliability tests T1 to T41, and the long run of cmd/torture. Everything runs on
// loopback, against real servers, with faults of chaos.Proxy.
//
// Random parts come from a seed, which is printed; TORTURE_SEED sets it.
package torture
