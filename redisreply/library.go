package redisreply

// Library is an element of the reply to FUNCTION LIST.
type Library struct {
	Name      string     `redis:"library_name"`
	Engine    string     `redis:"engine"`
	Functions []Function `redis:"functions"`
	// Code is empty unless WITHCODE asks for it.
	Code string `redis:"library_code,omitempty"`
}

// Function is a function of a [Library].
type Function struct {
	Name        string   `redis:"name"`
	Description string   `redis:"description,omitempty"`
	Flags       []string `redis:"flags"`
}

// Module is an element of the reply to MODULE LIST. Redis has Path and Args from 7.0 on.
type Module struct {
	Name    string   `redis:"name"`
	Version int64    `redis:"ver"`
	Path    string   `redis:"path,omitempty"`
	Args    []string `redis:"args,omitempty"`
}

// KeyFlags is an element of the reply to COMMAND GETKEYSANDFLAGS.
type KeyFlags struct {
	Key string
	// Flags tell what the command does with the key, such as RO and access.
	Flags []string
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (f *KeyFlags) UnmarshalRedis(res any) error {
	type plain KeyFlags
	return inOrder((*plain)(f), res)
}

// Tracking is the reply to CLIENT TRACKINGINFO.
type Tracking struct {
	Flags []string `redis:"flags"`
	// Redirect is the ID of the client that gets invalidations, 0 for this client, and -1 if tracking is
	// off.
	Redirect int64    `redis:"redirect"`
	Prefixes []string `redis:"prefixes"`
}
