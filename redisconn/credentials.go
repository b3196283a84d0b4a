package redisconn

import "github.com/joomcode/redispipe/internal/dial"

// Credentials are a user and a password. The zero value means no authentication. They
// print, and log, without the password.
type Credentials = dial.Credentials
