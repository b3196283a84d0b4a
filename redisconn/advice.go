package redisconn

import (
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/redis"
)

// misdirected says, if a server's error means that another server is to be asked, how to find that
// one: a connection to one server does not go there, so that sending the request again can't help.
func misdirected(err *errorx.Error) *errorx.Error {
	var advice string
	switch {
	case errs.Stays(err):
		return err
	case err.IsOfType(redis.ErrMoved), err.IsOfType(redis.ErrAsk):
		advice = "this server is one of a cluster: use redis-cluster:// with redispipe.Open, or package rediscluster"
	case err.IsOfType(redis.ErrReadOnly):
		advice = "this server is a replica, or lets nobody write: connect to its master, " +
			"or use redis-replicated:// or redis-sentinel:// with redispipe.Open, which find the master"
	default:
		return err
	}
	text := err.Message()
	explained := errs.Like(err, err.Cause(), strings.TrimSuffix(text, ".")+": "+advice)
	return explained.WithProperty(errs.EKText, text).WithProperty(errs.EKStays, true)
}
