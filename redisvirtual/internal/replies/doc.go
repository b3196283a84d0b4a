// Package replies implements the stream that the client of a virtual connection reads: the replies to its
// requests, in order, from a server or from this library, and the end of the connection. The package sends
// nothing. The client uses Read and the deadlines of a Stream. The writer, which is the code that sends the
// requests, uses the other methods, and flights.
package replies
