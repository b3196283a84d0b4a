package dedicated

import (
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/redis"
)

// identity says which server process is at the other end of a socket, and which client id
// the socket has there.
type identity struct {
	server string        // run_id, which each process draws at random
	client int64         // CLIENT ID
	err    *errorx.Error // why one of them is not known
}

// ask lists the steps of a handshake that ask for it. It does not matter if the user may
// not call them.
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

// refusedForGood reports whether the server answered with the error, and will do so
// again.
func refusedForGood(err *errorx.Error) bool {
	return err.IsOfType(redis.ErrResult) && !err.HasTrait(redis.ErrTraitTransient)
}

// errNotUnblocked: it is not certain that the client id of a dedicated connection means the
// same client on the shared one.
var errNotUnblocked = redis.Errors.NewType("not_unblocked")
