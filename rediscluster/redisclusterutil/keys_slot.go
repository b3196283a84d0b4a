package redisclusterutil

import (
	"strings"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/redis"
)

// What KeysSlot answers where there is no slot.
const (
	// NoSlot: the command has no key.
	NoSlot = -1
	// SeveralSlots: the command's keys are of several slots.
	SeveralSlots = -2
)

// KeysSlot returns the slot that all keys of a command share, NoSlot, or
// SeveralSlots. It keeps no reference to args.
func KeysSlot(cmd string, args []any) int {
	slot := NoSlot
	command.Of(cmd, args).Keys(func(i int) bool {
		var key uint16
		if i == command.InCmd {
			_, word, _ := strings.Cut(cmd, " ")
			key = Slot(word)
		} else {
			key = argSlot(args[i])
		}
		if slot != NoSlot && slot != int(key) {
			slot = SeveralSlots
			return false
		}
		slot = int(key)
		return true
	})
	return slot
}

// argSlot returns the slot of an argument as it is sent.
func argSlot(arg any) uint16 {
	switch key := arg.(type) {
	case string:
		return Slot(key)
	case []byte:
		return slot(key)
	}
	key, _ := redis.ArgToString(arg)
	return Slot(key)
}
