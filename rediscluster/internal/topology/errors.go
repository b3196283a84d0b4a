package topology

import (
	"errors"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/redis"
)

// Errors of the reasons that this package gives. Package rediscluster exports, and
// explains, them.
var (
	ErrCluster           = redis.Errors.NewSubNamespace("cluster")
	ErrNoSentinel        = ErrCluster.NewType("no_sentinel")
	ErrNotSentinel       = ErrNoSentinel.NewSubtype("not_sentinel", errs.ErrTraitInitPermanent)
	ErrMasterUnknown     = ErrNoSentinel.NewSubtype("master_unknown")
	ErrSentinelsDisagree = ErrNoSentinel.NewSubtype("disagree")
	ErrNoMaster          = ErrCluster.NewType("no_master")
	ErrManyMasters       = ErrNoMaster.NewSubtype("many")
)

// PermanentCause returns the first of an error and its causes that connecting again will
// not mend, nil if there is none.
func PermanentCause(err *errorx.Error) *errorx.Error {
	for err != nil {
		if err.HasTrait(errs.ErrTraitInitPermanent) {
			return err
		}
		var cause *errorx.Error
		if !errors.As(err.Cause(), &cause) {
			return nil
		}
		err = cause
	}
	return nil
}
