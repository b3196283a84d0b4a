package rediscluster

import (
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
)

var (
	// ErrCluster is the namespace of the cluster's own errors, in addition to those of
	// redis and redisconn.
	ErrCluster = topology.ErrCluster
	// ErrClusterSlots: no node returned its slots.
	ErrClusterSlots = ErrCluster.NewType("retrieve_slots")
	// ErrAddressNotResolved: the host of an address has no IP.
	ErrAddressNotResolved = ErrCluster.NewType("resolve_address")
	// ErrAddressHostname: an address is not host:port.
	ErrAddressHostname = ErrCluster.NewType("address_hostname")
	// ErrClusterConfigEmpty: nodes answer, but none of them has a slot.
	ErrClusterConfigEmpty = ErrCluster.NewType("config_empty")
	// ErrNoAliveConnection: no node that could take the request is connected. Not sent:
	// a retry is safe. Its cause is the latest failure to connect, if there was one; redis.EKAddress is
	// the address of the node in question.
	ErrNoAliveConnection = ErrCluster.NewType("no_alive_connection", redis.ErrTraitNotSent, redis.ErrTraitConnectivity)
	// ErrSplit: SendSplit was only partly executed; the cause says why. A retry would run the command
	// twice for some keys.
	ErrSplit = ErrCluster.NewType("split")
	// ErrNoSentinel: no sentinel named a master. The error has the answer of each sentinel.
	ErrNoSentinel = topology.ErrNoSentinel
	// ErrNotSentinel: the server at the address is not a sentinel.
	ErrNotSentinel = topology.ErrNotSentinel
	// ErrMasterUnknown: sentinels answer, but know no master of that name.
	ErrMasterUnknown = topology.ErrMasterUnknown
	// ErrSentinelsDisagree: sentinels name several masters with the same epoch, or a sentinel that
	// answers is not one of those that the client knows.
	ErrSentinelsDisagree = topology.ErrSentinelsDisagree
	// ErrNoMaster: none of the servers of NewReplicated is a master.
	ErrNoMaster = topology.ErrNoMaster
	// ErrManyMasters: several of the servers are masters, and the client can't decide between
	// them.
	ErrManyMasters = topology.ErrManyMasters
	// ErrShutdown: the context of Shutdown ended before all requests were answered.
	ErrShutdown = ErrCluster.NewType("shutdown")
)

var (
	// EKCluster is the *Cluster that handled the request.
	EKCluster = errs.NewProperty("cluster")
	// EKClusterName is the name of that cluster (string).
	EKClusterName = errs.NewPrintableProperty("cluster_name")
	// EKPolicy is the policy of the request (ReplicaPolicyEnum).
	EKPolicy = errs.NewPrintableProperty("policy")
)
