// Package outgoing is what the client of a virtual connection reads: the replies to its requests,
// in their order, whoever answers them, and how the connection ends. It knows no sender. The client
// has Read and the deadlines of a Stream; who sends its requests has the rest, and flights.
package outgoing
