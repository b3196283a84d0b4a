// Package proto reads the requests and writes the replies of other clients: it finds the end and
// the words of each request, within the bounds of Redis, and encodes replies. Its only state is the
// progress in an incomplete request.
package proto
