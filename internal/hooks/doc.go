// Package hooks calls hooks of users around operations, in such a way that a hook can harm only
// its own operation. It does not know what an operation is.
package hooks
