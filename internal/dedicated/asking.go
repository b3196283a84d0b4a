package dedicated

import (
	"time"

	"github.com/joomcode/redispipe/redis"
)

// asking is ASKING, encoded.
var asking, _ = redis.AppendRequest(nil, redis.Req("ASKING"))

// askLasts is for how long after an ASK requests are sent behind ASKING. An ASK is true
// only when it is said. If the slot has since moved to the node, away from it, and has
// begun to move to it again, the node takes a late ASKING for a sign that it has the key,
// and makes a new one beside the key that is still to come. With a slot that moves to and
// fro every 60 ms, 200 ms are enough for that.
const askLasts = 50 * time.Millisecond

// askHolds reports whether ASKING may go before a request because of an ASK of that time.
func askHolds(asked time.Time) bool { return time.Since(asked) < askLasts }

// askedNow returns the time of an ASK that is followed at once, or zero if there is none.
func askedNow(asking bool) (at time.Time) {
	if asking {
		at = time.Now()
	}
	return at
}
