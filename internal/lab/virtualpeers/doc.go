// Package virtualpeers tests package redisvirtual with the clients that it is for, and with
// libraries that are built on them. It has requirements of its own, so it is a module.
package virtualpeers
