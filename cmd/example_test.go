package cmd_test

import (
	"fmt"
	"time"

	"github.com/joomcode/redispipe/cmd"
)

func Example() {
	for _, c := range []fmt.Stringer{
		cmd.Get[string]("user:1"),
		cmd.Set("session", "secret", cmd.EX(time.Minute), cmd.NX),
		cmd.ZRangeWithScores[string]("board", 0, 9, nil, cmd.REV),
	} {
		fmt.Println(c)
	}
	// Output:
	// Req("GET", 1 arg, 1 key, 9 bytes)
	// Req("SET", 5 args, 1 key, 22 bytes)
	// Req("ZRANGE", 5 args, 1 key, 26 bytes)
}
