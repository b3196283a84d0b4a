//go:build race

package rediscluster

const raceEnabled = true
