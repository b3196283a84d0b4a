// Package upstream is where the requests of virtual connections go.
package upstream
