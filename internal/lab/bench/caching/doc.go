// Package caching measures the caches of several clients, each at its defaults except for the
// memory bound and our age of null. It measures how many reads return a value from before a write
// that the same process has acknowledged; when the write of another client becomes visible; how
// long stale values are served after a slot has moved and while the connections are black-holed;
// and the memory that a bound of 16 MiB takes. scripts/caches.sh runs it once with each server and
// makes a table.
package caching
