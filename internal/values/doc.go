// Package values turns Go values into arguments of requests, and results into Go values. Package
// redis exports and documents its functions. The properties of a type are computed once: how its
// values are sent (marshaler, structArgs) and how they are read (plan).
package values
