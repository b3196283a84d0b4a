// Package errs defines the errors of this library: their types, traits and properties, how one
// error is made from another, and what an error says about its request. Package redis exports and
// documents those that users see.
package errs
