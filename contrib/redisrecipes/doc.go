// Package redisrecipes is the root of a module with recipes: what many services build on Redis. Each
// package holds one, and uses only the public interfaces of the library:
//
//	aside    what is slow to load, loaded by one caller of all processes
//	limit    limits of rates for all processes
//	lock     locks with fencing tokens
//	once     a function that runs once for each key, and whose result repeats get
//
// The guide is docs/recipes.md: it says what each recipe promises, and what it can't.
package redisrecipes
