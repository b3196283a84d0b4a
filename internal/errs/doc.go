// Package errs has the errors of this library: their types, traits and properties, how one is
// made of another, and what they say of a request. Package redis exports, and explains, those
// that users see.
package errs
