package redisclusterutil

import (
	"github.com/joomcode/redispipe/redis"
)

// ShardInfo is a master with its replicas, as CLUSTER SHARDS tells it.
type ShardInfo struct {
	// Slots are ranges, both ends included. A shard may have none.
	Slots [][2]uint16
	Nodes []ShardNode
}

// ShardNode is a node of a shard.
type ShardNode struct {
	ID string
	// Addr is the preferred endpoint as host:port. The host is empty where it
	// is the host that was asked; Addr is empty where it is unknown.
	Addr     string
	IP       string
	Hostname string
	// Port and TLSPort are 0 where the node does not listen.
	Port    int
	TLSPort int
	Master  bool
	// ReplicationOffset is 0 for a replica that never synced.
	ReplicationOffset int64
	// Health is online, loading (a replica that never synced) or fail.
	Health string
	// Zone is the availability zone, empty where the node is not told its own. Valkey
	// has it from version 9.1 on.
	Zone string
}

// ParseShardsInfo parses the answer to CLUSTER SHARDS, RESP2 and RESP3 alike.
// With preferTLS Addr has the TLS port. Fields it does not know are skipped.
func ParseShardsInfo(res any, preferTLS bool) ([]ShardInfo, error) {
	if err := redis.AsError(res); err != nil {
		return nil, err
	}
	rows, ok := res.([]any)
	if !ok {
		return nil, unexpected("CLUSTER SHARDS", "not an array", res)
	}
	shards := make([]ShardInfo, 0, len(rows))
	for _, row := range rows {
		shard, ok := parseShard(row, preferTLS)
		if !ok {
			return nil, unexpected("CLUSTER SHARDS", "malformed shard", res)
		}
		shards = append(shards, shard)
	}
	return shards, nil
}

func parseShard(row any, preferTLS bool) (shard ShardInfo, ok bool) {
	ok = eachPair(row, func(key string, val any) bool {
		list, isArray := val.([]any)
		switch key {
		case "slots":
			return isArray && parseShardSlots(list, &shard)
		case "nodes":
			if !isArray {
				return false
			}
			for _, cell := range list {
				node, ok := parseShardNode(cell, preferTLS)
				if !ok {
					return false
				}
				shard.Nodes = append(shard.Nodes, node)
			}
		}
		return true
	})
	return shard, ok
}

func parseShardSlots(list []any, shard *ShardInfo) bool {
	if len(list)%2 != 0 {
		return false
	}
	for i := 0; i < len(list); i += 2 {
		from, fromOk := list[i].(int64)
		to, toOk := list[i+1].(int64)
		if !fromOk || !toOk || from < 0 || to < from || to >= NumSlots {
			return false
		}
		shard.Slots = append(shard.Slots, [2]uint16{uint16(from), uint16(to)})
	}
	return true
}

func parseShardNode(cell any, preferTLS bool) (node ShardNode, ok bool) {
	var role, endpoint string
	known := false
	ok = eachPair(cell, func(key string, val any) bool {
		if number, isInt := val.(int64); isInt {
			switch key {
			case "port", "tls-port":
				if number < 0 || number > 65535 {
					return false
				}
				if key == "port" {
					node.Port = int(number)
				} else {
					node.TLSPort = int(number)
				}
			case "replication-offset":
				node.ReplicationOffset = number
			}
			return true
		}
		text, isText := asText(val)
		if val != nil && !isText {
			return true
		}
		switch key {
		case "id":
			node.ID = text
		case "endpoint":
			endpoint, known = text, text != "?"
		case "ip":
			node.IP = text
		case "hostname":
			node.Hostname = text
		case "role":
			role = text
		case "health":
			node.Health = text
		case "availability-zone":
			node.Zone = text
		}
		return true
	})
	node.Master = role == "master" || role == "primary"
	if !known {
		endpoint, known = node.IP, node.IP != ""
	}
	port := node.Port
	if port == 0 || preferTLS && node.TLSPort != 0 {
		port = node.TLSPort
	}
	if known && port != 0 {
		node.Addr = joinHostPort(endpoint, port)
	}
	return node, ok
}
