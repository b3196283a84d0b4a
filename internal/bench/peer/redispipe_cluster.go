package peer

import (
	"errors"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

func openRedispipeCluster(o Options, opts redisconn.Opts) (redis.Sender, error) {
	return nil, errors.New("no cluster yet")
}
