// Package values turns Go values into arguments of requests, and results into Go values.
// Package redis exports, and explains, what it does. What there is to know of a type is found
// once: how its values are sent (marshaler, structArgs), and how they are read (plan).
package values
