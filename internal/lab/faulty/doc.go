// Package faulty has servers that misbehave as a test tells them: a [Proxy] in front of a real
// server, which cuts, delays and alters the traffic, and a [ScriptedServer], which answers with any
// bytes. Both listen on free ports of 127.0.0.1.
package faulty
