// Package torture breaks things under a client and has the oracle judge it:
// the tests T1 to T31 of the library's reliability, and the long run of
// cmd/torture. Everything runs on loopback, against real servers, with faults
// of chaos.Proxy.
//
// Random parts come from a seed, which is printed; TORTURE_SEED sets it.
package torture
