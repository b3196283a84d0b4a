package dedicated

import (
	"time"

	"github.com/joomcode/redispipe/redis"
)

// asking is ASKING, encoded.
var asking, _ = redis.AppendRequest(nil, redis.Req("ASKING"))

// askLasts is how long after an ASK requests are sent after ASKING. An ASK is only true
// at its time: if the slot has since moved to the node, away again, and is moving to it
// once more, a late ASKING makes the node create a second key beside the one that is
// still to come. With a slot that moves back and forth every 60 ms, this happens after
// 200 ms.
const askLasts = 50 * time.Millisecond

// askHolds reports whether an ASK of that time still allows ASKING before a request.
func askHolds(asked time.Time) bool { return time.Since(asked) < askLasts }

// askedNow returns the present time if an ASK is being followed, and zero otherwise.
func askedNow(asking bool) (at time.Time) {
	if asking {
		at = time.Now()
	}
	return at
}
