// Package replies is what the client of a virtual connection reads: the replies to its requests,
// in their order, whoever answers them, and how the connection ends. It knows no sender. The client
// uses Read and the deadlines of a Stream; its writer, which sends the requests, uses the rest, and flights.
package replies
