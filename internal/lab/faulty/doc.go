// Package faulty is servers for tests that misbehave as a test says: a [Proxy] before a real
// server, which cuts, delays and alters what goes through it, and a [ScriptedServer], which
// answers with any bytes. Both listen on free ports of 127.0.0.1.
package faulty
