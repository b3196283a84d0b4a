package redisconn

import (
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/redis"
)

// advised adds advice for the user to a server's error, if the error itself has none. alone means that
// the connection is not part of a cluster: nothing follows a redirect to the right server, so a retry
// can't help.
func advised(err *errorx.Error, alone bool) *errorx.Error {
	var advice string
	stays := false
	switch {
	case !err.IsOfType(redis.ErrResult), errs.Stays(err):
		return err
	case errs.Says(err, "ERR Protocol error: invalid bulk length"):
		advice = "an argument is longer than the server's proto-max-bulk-len"
	case !alone:
		return err
	case err.IsOfType(redis.ErrMoved), err.IsOfType(redis.ErrAsk):
		advice, stays = "this server is one of a cluster: use redis-cluster:// with redispipe.Open, or package rediscluster", true
	case err.IsOfType(redis.ErrReadOnly):
		advice, stays = "this server is a replica, or lets nobody write: connect to its master, "+
			"or use redis-replicated:// or redis-sentinel:// with redispipe.Open, which find the master", true
	default:
		return err
	}
	text := err.Message()
	err = errs.Like(err, err.Cause(), strings.TrimSuffix(text, ".")+": "+advice)
	if _, whole := err.Property(errs.EKText); !whole {
		err = err.WithProperty(errs.EKText, text)
	}
	if stays {
		err = err.WithProperty(errs.EKStays, true)
	}
	return err
}
