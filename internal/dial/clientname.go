package dial

import (
	"runtime/debug"
	"strings"
	"sync"
)

const (
	// libName is what servers show as the library in CLIENT LIST.
	libName    = "redispipe"
	modulePath = "github.com/joomcode/redispipe"
)

// libVersion returns the version of the module that the program was built with, such as
// 1.2.3; "(devel)" is one without a version.
var libVersion = sync.OnceValue(func() string {
	version := "(devel)"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	for _, module := range append(info.Deps, &info.Main) {
		if module.Path == modulePath && ValidName(module.Version) && module.Version != "" {
			version = strings.TrimPrefix(module.Version, "v")
		}
	}
	return version
})

// ValidName reports whether servers accept a name.
func ValidName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r < '!' || r > '~' })
}
