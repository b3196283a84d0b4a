package errs

import (
	"strings"

	"github.com/joomcode/errorx"
)

// Advised adds advice for the user to a server's error, unless the error has advice already. alone
// means that the sender does not send to a cluster. Then nobody follows a redirect to the right
// server, so a retry can't help.
func Advised(err *errorx.Error, alone bool) *errorx.Error {
	var advice string
	stays := false
	switch {
	case !err.IsOfType(ErrResult), Stays(err):
		return err
	case Says(err, "ERR Protocol error: invalid bulk length"):
		advice = "an argument is longer than the server's proto-max-bulk-len"
	case !alone:
		return err
	case err.IsOfType(ErrMoved), err.IsOfType(ErrAsk):
		advice, stays = "this server is one of a cluster: use redis-cluster:// with redispipe.Open, or package rediscluster", true
	case err.IsOfType(ErrReadOnly), err.IsOfType(ErrRedirect):
		advice, stays = "this server is a replica, or lets nobody write: connect to its master, "+
			"or use redis-replicated:// or redis-sentinel:// with redispipe.Open, which find the master", true
	default:
		return err
	}
	text := err.Message()
	if strings.HasSuffix(text, advice) {
		return err
	}
	err = Like(err, err.Cause(), strings.TrimSuffix(text, ".")+": "+advice)
	if _, whole := err.Property(EKText); !whole {
		err = err.WithProperty(EKText, text)
	}
	if stays {
		err = err.WithProperty(EKStays, true)
	}
	return err
}
