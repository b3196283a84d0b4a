// Package proto reads requests as other clients write them: where each ends, within the bounds of
// Redis, and its words. It has no state but how far a request has come that is not complete.
package proto
