package topology

import (
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/redis"
)

// The errors of this package. Package rediscluster exports and documents them.
var (
	ErrCluster           = redis.Errors.NewSubNamespace("cluster")
	ErrNoSentinel        = ErrCluster.NewType("no_sentinel")
	ErrNotSentinel       = ErrNoSentinel.NewSubtype("not_sentinel", errs.ErrTraitInitPermanent)
	ErrMasterUnknown     = ErrNoSentinel.NewSubtype("master_unknown")
	ErrSentinelsDisagree = ErrNoSentinel.NewSubtype("disagree")
	ErrNoMaster          = ErrCluster.NewType("no_master")
	ErrManyMasters       = ErrNoMaster.NewSubtype("many")
)
