// Package virtualpeers tests package redisvirtual with the clients that it is for, and with
// libraries that are built on these clients. Its program recipes compares contrib/redisrecipes with
// such libraries. It is a module of its own because of its requirements.
package virtualpeers
