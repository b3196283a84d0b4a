// Package redisrecipes is the root of a module of recipes for things that many services build on
// Redis. Each package is one recipe, and uses only the public interfaces of the library:
//
//	aside    a cache in Redis: one caller among all processes loads an entry, and the others wait for it
//	limit    rate limits that all processes share
//	lock     locks with fencing tokens
//	once     a function that runs once for each key; a repeated call gets the result of the first
//
// The guide, docs/recipes.md, says what each recipe promises, and what it does not.
package redisrecipes
