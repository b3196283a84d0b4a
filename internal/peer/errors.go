// Package peer is what holds of every connection to a server, whoever uses it: how its end
// is told, and how one finds out that requests and replies are in step.
package peer

import (
	"context"
	"errors"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/life"
)

// The errors of package redisconn, where they are described.
var (
	ErrConnection   = errs.Errors.NewSubNamespace("connection", errs.ErrTraitNotSent, errs.ErrTraitConnectivity)
	ErrNotConnected = ErrConnection.NewType("not_connected")
)

// ErrUnsolicited says that something came that nobody asked for.
var ErrUnsolicited = errors.New("a reply that nobody asked for")

// Closed returns the error of what is refused or ended because the user has closed the
// connection, or ended the context that it lives with.
func Closed(ctx context.Context) *errorx.Error {
	err := errs.ErrContextClosed.New("connection is closed")
	if why := life.EndedBy(ctx); why != nil {
		err = errs.Because(err, why)
	}
	return err
}
