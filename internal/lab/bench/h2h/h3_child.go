package h2h

import (
	"fmt"
	"runtime/debug"
)

// askForHostile asks for one reply after the other, each with a client of its
// own. It says which one begins, so that the parent knows what killed it.
func askForHostile(a *act) error {
	for i := a.From; i < len(hostileReplies()); i++ {
		if err := a.out.Encode(event{Begin: &i}); err != nil {
			return err
		}
		s, err := a.open()
		if err != nil {
			return err
		}
		result := asHang
		_, ended := within(hostileWait, func() {
			ctx, cancel := deadline(hostileCall)
			defer cancel()
			if _, err := s.Do(ctx, "GET", fmt.Sprint(hostileKey, i)); err == nil {
				result = asValue
			} else {
				result = asError
			}
		})
		if !ended {
			result = asHang
		}
		if err := a.out.Encode(event{Case: &outcome{i, result}}); err != nil {
			return err
		}
		within(patience, s.Close)
		debug.FreeOSMemory() // the limit is for each reply
	}
	return nil
}
