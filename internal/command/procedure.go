package command

import "strings"

// maxProcedure is longer than a script's hash, and longer than the usual names of functions.
const maxProcedure = 64

// Procedure returns a copy of the hash of the script, or of the name of the function, that the call
// runs. The name is empty if no server accepts it. ok is false for a call that does not run a
// script by its hash or a function by its name.
func (c *Call) Procedure() (name string, ok bool) {
	switch {
	case c.Named("EVALSHA"), c.Named("EVALSHA_RO"), c.Named("FCALL"), c.Named("FCALL_RO"):
	default:
		return "", false
	}
	switch s := c.at(1).(type) {
	case string:
		if isProcedure(s) {
			name = strings.Clone(s)
		}
	case []byte:
		if isProcedure(s) {
			name = string(s)
		}
	}
	return name, true
}

// isProcedure reports whether a name consists of what servers allow in names of functions.
func isProcedure[S string | []byte](s S) bool {
	for i := range len(s) {
		b := s[i]
		if b != '_' && (b < '0' || b > '9') && (b|0x20 < 'a' || b|0x20 > 'z') {
			return false
		}
	}
	return len(s) <= maxProcedure
}
