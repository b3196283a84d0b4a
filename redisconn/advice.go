package redisconn

import (
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/redis"
)

// advised adds to a server's error what its user can do about it, if the error itself does not say
// so. alone says that the connection is no part of a cluster: it does not go on to the server that is
// meant, so that sending the request again can't help.
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
