// Package stop makes goroutines pause at unexpected places.
package stop

import (
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"time"
)

// oneIn is the number of calls of Here of which one pauses: STOPS, or 1000.
var oneIn = func() uint32 {
	if n, err := strconv.ParseUint(os.Getenv("STOPS"), 10, 32); err == nil && n > 0 {
		return uint32(n)
	}
	return 1000
}()

// Here usually returns at once. Sometimes it lets other goroutines run, and rarely it sleeps for up
// to 10 ms.
func Here() {
	if rand.Uint32N(oneIn) != 0 {
		return
	}
	switch n := rand.IntN(1000); {
	case n < 600:
		runtime.Gosched()
	case n < 900:
		time.Sleep(time.Duration(rand.Int64N(int64(200 * time.Microsecond))))
	case n < 995:
		time.Sleep(time.Duration(rand.Int64N(int64(2 * time.Millisecond))))
	default:
		time.Sleep(time.Duration(rand.Int64N(int64(10 * time.Millisecond))))
	}
}
