package redisclusterutil

import (
	"strings"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

// MasterOnlyKey is the key of a set of slots. Clients read these slots only from their masters, unless
// a policy forces reads from replicas. Operators add a slot while they don't trust its replicas.
const MasterOnlyKey = "CLUSTER_SELF:MASTER_ONLY"

// errSlotRange: a slot is not below NumSlots.
var errSlotRange = redis.ErrRequest.NewType("slot_range", redis.ErrTraitNotSent)

// masterOnlyKey returns the key with stub as its hash tag, so that each shard can have its own
// set. If stub is empty, the key is MasterOnlyKey.
func masterOnlyKey(stub string) string {
	if stub == "" {
		return MasterOnlyKey
	}
	return MasterOnlyKey + "{" + stub + "}"
}

// RequestMasterOnly returns the slots of the set that SetMasterOnly has filled with the same stub,
// and whether there are any.
func RequestMasterOnly(s redis.Sender, stub string) (map[uint16]struct{}, bool, error) {
	return ParseMasterOnly(redis.Sync{S: s}.Do("SMEMBERS", masterOnlyKey(stub)))
}

// SetMasterOnly adds slots to a set of slots that are read only from their masters. With an
// empty stub it is the set that clients of the cluster use. Otherwise stub is the hash tag
// of the set's key: give any key of the shard that should hold the set.
func SetMasterOnly(s redis.Sender, stub string, slots []uint16) error {
	return changeMasterOnly(s, "SADD", stub, slots)
}

// UnsetMasterOnly removes slots from the set: see SetMasterOnly.
func UnsetMasterOnly(s redis.Sender, stub string, slots []uint16) error {
	return changeMasterOnly(s, "SREM", stub, slots)
}

func changeMasterOnly(s redis.Sender, cmd, stub string, slots []uint16) error {
	if len(slots) == 0 {
		return nil
	}
	args := make([]any, 0, len(slots)+1)
	args = append(args, masterOnlyKey(stub))
	for _, slot := range slots {
		if slot >= NumSlots {
			return errSlotRange.New("slot %d is out of range", slot)
		}
		args = append(args, slot)
	}
	return redis.AsError(redis.Sync{S: s}.Do(cmd, args...))
}

// ParseMasterOnly parses a set of slots, or a string of numbers separated by commas or spaces.
// It returns the slots, and whether there are any.
func ParseMasterOnly(res any) (map[uint16]struct{}, bool, error) {
	if err := redis.AsError(res); err != nil {
		return nil, false, err
	}
	elements, isSet := res.([]any)
	if text, isText := resp.TextOf(res); isText {
		isSpace := func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }
		for _, field := range strings.FieldsFunc(text, isSpace) {
			elements = append(elements, field)
		}
	} else if !isSet && res != nil {
		return nil, false, unexpected(MasterOnlyKey, "neither a set nor a string", res)
	}
	slots := make(map[uint16]struct{})
	for _, el := range elements {
		text, _ := redis.ArgToString(el)
		slot, ok := parseSlot(text)
		if !ok {
			return nil, false, unexpected(MasterOnlyKey, "an element is not a slot", res)
		}
		slots[slot] = struct{}{}
	}
	return slots, len(slots) != 0, nil
}
