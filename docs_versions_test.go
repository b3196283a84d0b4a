package redispipe_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestVersions checks that pages name the versions of Go that go.mod files require, and all servers
// that `make servers` tests with.
func TestVersions(t *testing.T) {
	names := func(page, text string) {
		if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(read(t, page), "\n//", "\n")), " "), text) {
			t.Errorf("%s does not say %q", page, text)
		}
	}
	goOf := func(file string) string {
		return regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, file))[1]
	}
	names("README.md", "needs Go "+goOf("go.mod"))
	names("docs/migration.md", "requires Go "+goOf("go.mod"))
	modules, _ := filepath.Glob("contrib/*/go.mod")
	for _, module := range modules {
		names("README.md", "need Go "+goOf(module))
	}

	listed := regexp.MustCompile(`(?m)^\techo (redis-.*)$`).FindStringSubmatch(read(t, "scripts/server.sh"))[1]
	versions := map[string][]string{}
	for _, server := range append(strings.Fields(listed), "redis-7.0") { // the version of the system's package
		kind, version, _ := strings.Cut(server, "-")
		versions[kind] = append(versions[kind], version)
		names("docs/reliability.md", map[string]string{"redis": "Redis ", "valkey": "Valkey "}[kind]+version)
	}
	all := fmt.Sprintf("Redis %s and Valkey %s", list(versions["redis"]), list(versions["valkey"]))
	names("README.md", all)
	names("testbed/doc.go", all)
}

// list joins versions, in order, with commas and an "and".
func list(versions []string) string {
	slices.SortFunc(versions, func(a, b string) int {
		var x, y [2]int
		_, _ = fmt.Sscanf(a+" "+b, "%d.%d %d.%d", &x[0], &x[1], &y[0], &y[1])
		return slices.Compare(x[:], y[:])
	})
	last := len(versions) - 1
	return strings.Join(versions[:last], ", ") + " and " + versions[last]
}
