// Package caching measures the caches of several clients, each at its defaults: how many reads that
// begin after a write of the same process was acknowledged return what was before it, when the
// write of another client is seen, and what a bound of 16 MiB takes.
//
//	go test -run '^$' -bench OwnWrites -benchtime 20000x ./caching
//	go test -run '^$' -bench OthersWrites -benchtime 5000x ./caching
//	go test -run '^$' -bench Bound -benchtime 1x ./caching
package caching
