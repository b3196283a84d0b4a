package topology

import (
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
