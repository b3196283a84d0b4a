package dedicated

import (
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/redis"
)

// identity says to which process a socket leads, and as which client that knows it.
type identity struct {
	server string        // run_id, which each process draws at random
	client int64         // CLIENT ID
	err    *errorx.Error // why one of them is not known
}

// ask lists the steps of a handshake that ask for it. A user need not be allowed
// to.
func (id *identity) ask() []dial.Step {
	return []dial.Step{
		{Request: redis.Req("CLIENT", "ID"), Check: func(res any) *errorx.Error {
			var known bool
			if id.client, known = res.(int64); !known {
				id.err = unidentified("CLIENT ID", res)
			}
			return nil
		}},
		{Request: redis.Req("INFO", "server"), Check: func(res any) *errorx.Error {
			if id.server = RunID(res); id.server == "" {
				id.err = unidentified("INFO", res)
			}
			return nil
		}},
	}
}

func unidentified(cmd string, res any) *errorx.Error {
	if err := redis.AsErrorx(res); err != nil {
		return errNotUnblocked.Wrap(err, "%s", cmd)
	}
	return errNotUnblocked.New("%s was answered with something else", cmd)
}

// RunID returns the run_id in an answer to INFO, which each server process draws at random, or "" if there is none.
func RunID(res any) string {
	text, _ := redis.As[string](res)
	for line := range strings.SplitSeq(text, "\r\n") {
		if id, found := strings.CutPrefix(line, "run_id:"); found {
			return id
		}
	}
	return ""
}

// refusedForGood reports whether an error is the server's, and no passing one.
func refusedForGood(err *errorx.Error) bool {
	return err.IsOfType(redis.ErrResult) && !err.HasTrait(redis.ErrTraitTransient)
}

// errNotUnblocked: a dedicated connection is not known to be the client that the shared one
// would name.
var errNotUnblocked = redis.Errors.NewType("not_unblocked")
