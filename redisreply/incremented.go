package redisreply

// Incremented is the reply to INCREX. The server does not return an error if a bound prevents the
// increment, so Value also reports whether the key was incremented.
type Incremented[N int64 | float64] struct{ value, added N }

// Value returns the value of the key. incremented is set if anything was added. If not, the value
// and its expiration are unchanged.
func (i Incremented[N]) Value() (value N, incremented bool) { return i.value, i.added != 0 }

// Added returns the amount that was added. With SATURATE it may be less than the requested amount.
func (i Incremented[N]) Added() N { return i.added }

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (i *Incremented[N]) UnmarshalRedis(res any) error {
	var pair [2]N
	list, ok := res.([]any)
	if !ok || len(list) != len(pair) {
		return errShape("a value with what was added", res)
	}
	for at, el := range list {
		if err := into(&pair[at], el); err != nil {
			return err
		}
	}
	i.value, i.added = pair[0], pair[1]
	return nil
}
