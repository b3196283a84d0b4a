package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ErrNoBinary is returned when there is no redis-server to run.
var ErrNoBinary = errors.New("no redis-server")

// RequireRedis ends the process with a clear message and status 1 if there is
// no redis-server to run. Call it in TestMain.
func RequireRedis() {
	binary, err := lookBinary("")
	if err == nil {
		_, err = versionOf(binary)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// lookBinary resolves Options.Binary to a path.
func lookBinary(name string) (string, error) {
	if name == "" {
		name = os.Getenv("REDIS_SERVER")
	}
	if name == "" {
		name = "redis-server"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("testbed: %w to run as %q: install it (for example "+
			"with apt-get install redis-server) or set REDIS_SERVER to its path: %w", ErrNoBinary, name, err)
	}
	return path, nil
}

// version is the version of a server binary. Valkey continues the numbers from Redis 7.2.
type version struct {
	major, minor int
	valkey       bool
}

// since reports whether the version is the given one or later.
func (v version) since(major, minor int) bool {
	return v.major > major || v.major == major && v.minor >= minor
}

var versionPattern = regexp.MustCompile(`\bv=(\d+)\.(\d+)`)

// versions caches versions: path of a binary -> func() (version, error).
var versions sync.Map

// versionOf asks a binary for its version, once for each path.
func versionOf(binary string) (version, error) {
	once, _ := versions.LoadOrStore(binary, sync.OnceValues(func() (version, error) { return askVersion(binary) }))
	return once.(func() (version, error))()
}

func askVersion(binary string) (version, error) {
	// The time-out is only for a binary that hangs.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, binary, "--version").CombinedOutput()
	if err != nil {
		return version{}, fmt.Errorf("testbed: %s --version: %w: %s", binary, err, out)
	}
	return parseVersion(string(out))
}

func parseVersion(text string) (version, error) {
	m := versionPattern.FindStringSubmatch(text)
	if m == nil {
		return version{}, fmt.Errorf("testbed: no version in %q", text)
	}
	major, err1 := strconv.Atoi(m[1])
	minor, err2 := strconv.Atoi(m[2])
	return version{major, minor, strings.HasPrefix(text, "Valkey")}, errors.Join(err1, err2)
}
