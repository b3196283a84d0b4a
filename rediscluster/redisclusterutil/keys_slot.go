package redisclusterutil

import (
	"strings"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// What KeysSlot answers where there is no slot.
const (
	// NoSlot: the command has no key.
	NoSlot = wire.NoSlot
	// SeveralSlots: the command's keys are of several slots.
	SeveralSlots = wire.ManySlots
)

// KeysSlot returns the slot that all keys of a command share, NoSlot, or
// SeveralSlots. It keeps no reference to args.
func KeysSlot(cmd string, args []any) int {
	common := NoSlot
	command.Of(cmd, args).Keys(func(i int) bool {
		var key uint16
		if i == command.InCmd {
			_, word, _ := strings.Cut(cmd, " ")
			key = Slot(word)
		} else {
			key = argSlot(args[i])
		}
		if common != NoSlot && common != int(key) {
			common = SeveralSlots
			return false
		}
		common = int(key)
		return true
	})
	return common
}

// argSlot returns the slot of an argument as it is sent.
func argSlot(arg any) uint16 {
	switch key := arg.(type) {
	case string:
		return Slot(key)
	case []byte:
		return slot.Of(key)
	}
	key, _ := redis.ArgToString(arg)
	return Slot(key)
}
