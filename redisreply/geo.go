package redisreply

// Point is a position, in degrees. The reply to GEOPOS is a []*Point, with nil for a missing
// member.
type Point struct {
	Longitude, Latitude float64
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (p *Point) UnmarshalRedis(res any) error {
	type plain Point
	return inOrder((*plain)(p), res)
}

// Place is an element of the reply to GEOSEARCH, GEORADIUS, GEORADIUSBYMEMBER and
// their variants, with any of WITHDIST, WITHHASH and WITHCOORD. Fields that were not requested
// are zero.
type Place struct {
	Name string
	// Distance is in the unit of the command.
	Distance float64
	Hash     int64
	Point    Point
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (p *Place) UnmarshalRedis(res any) error {
	list, ok := res.([]any)
	if !ok {
		list = []any{res}
	}
	if len(list) == 0 {
		return errShape("a place", res)
	}
	var read Place
	err := into(&read.Name, list[0])
	for _, el := range list[1:] { // the elements are distinguished by their types
		if err != nil {
			break
		}
		switch el.(type) {
		case []any:
			err = into(&read.Point, el)
		case int64:
			err = into(&read.Hash, el)
		default:
			err = into(&read.Distance, el)
		}
	}
	if err == nil {
		*p = read
	}
	return err
}
