package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckFindsWhatFailsOnOnePlatform(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":          "module example.org/m\n\ngo 1.25\n",
		"a.go":            "package m\n\nvar A = signal\n",
		"a_linux.go":      "package m\n\nvar signal = 1\n",
		"a_test.go":       "package m\n\nfunc wide() int { return 1 << 40 }\n",
		"other_test.go":   "package m_test\n\nimport \"example.org/m\"\n\nvar _ string = m.A\n",
		"sub/sub.go":      "package sub\n\nimport \"example.org/m\"\n\nvar B = m.A + 1\n",
		"ignored/text.md": "no package",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "off") // make test sets GOWORK

	files := newSources()
	for platform, want := range map[string][]string{
		"linux/amd64":   {"cannot use m.A"},
		"linux/386":     {"cannot use m.A", "(overflows)"},
		"windows/amd64": {"undefined: signal"},
	} {
		faults, err := check(files, platform, []string{"./..."})
		require.NoError(t, err)
		var all strings.Builder
		for _, fault := range faults {
			all.WriteString(fault.Error() + "\n")
		}
		for _, text := range want {
			require.Contains(t, all.String(), text, platform)
		}
		require.Len(t, faults, len(want), platform)
	}

	_, err := check(files, "linux/z80", []string{"./..."})
	require.ErrorContains(t, err, "no such platform")
	_, err = check(files, "linux/386", []string{"./missing"})
	require.ErrorContains(t, err, "go list")
}
