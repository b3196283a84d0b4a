// Package replies has the stream that the client of a virtual connection reads: the replies to its
// requests, in order, from a server or from this library, and the end of the connection. It knows no
// sender. The client uses Read and the deadlines of a Stream; the writer, which sends the requests,
// uses the other methods, and flights.
package replies
