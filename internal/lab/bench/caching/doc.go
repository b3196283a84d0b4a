// Package caching measures the caches of several clients, each at its defaults but for the bound and
// our age of null: how many reads that begin after a write of the same process was acknowledged
// return what was before it, when the write of another client is seen, how long what has changed is
// served when a slot has moved and when the connections are black-holed, and what a bound of 16 MiB
// takes. Run it once: scripts/caches.sh does, with each server, and makes a table.
//
//	go test -run '^$' -bench . -benchtime 1x ./caching
package caching
