// Package resp is the codec: it encodes requests and decodes replies, in RESP2 and RESP3. It knows
// nothing of futures or connections. It checks lengths against [Limits] before it allocates.
//
// A [Decoder] reads replies. header.go holds the grammar. decoder.go follows the grammar in two
// ways: Decode decodes a reply, and Complete finds out whether a whole reply has arrived.
package resp
