// Package resp is the codec: requests and replies as bytes, in RESP2 and RESP3. It
// knows no request, future or connection. What it reads is bounded by [Limits] before
// anything is allocated.
//
// A reply is read by a [Decoder]. The grammar stands in header.go, and two walks in decoder.go
// follow it: one that decodes, and one that finds out whether all of a reply has come.
package resp
