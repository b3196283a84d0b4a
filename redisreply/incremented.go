package redisreply

// Incremented is the reply to INCREX, which is no error if a bound kept it from adding anything: so
// its value comes with the answer whether it was incremented.
type Incremented[N int64 | float64] struct{ value, added N }

// Value returns the value of the key, and whether anything was added to it. If nothing was, the
// value and its expiration are what they were.
func (i Incremented[N]) Value() (value N, incremented bool) { return i.value, i.added != 0 }

// Added returns how much was added: with SATURATE it may be less than what was asked for.
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
