// Package virtualpeers tests package redisvirtual with the clients that it is for, and with
// libraries that are built on them. Its program recipes compares contrib/redisrecipes with such libraries. It has requirements of its own, so it is a module.
package virtualpeers
