package lifetime

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCallUser(t *testing.T) {
	for name, c := range map[string]struct {
		f     func()
		value any
	}{
		"returns": {func() {}, nil},
		"panics":  {func() { panic("on purpose") }, "on purpose"},
		"exits":   {runtime.Goexit, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var value any
			var stack string
			CallUser(c.f, func(v any, s []byte) { value, stack = v, string(s) })
			assert.Equal(t, c.value, value)
			if c.value != nil {
				assert.Contains(t, stack, "usercall_test.go")
			}
		})
	}
}
