// Package upstream sends the requests of virtual connections to servers.
package upstream
