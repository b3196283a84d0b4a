package testbed

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestConfigByVersion(t *testing.T) {
	o := Options{TLS: true, cluster: 1500 * time.Millisecond}
	ports := portSet{plain: port{num: 1}, tls: port{num: 2}, bus: port{num: 3}}
	seven := strings.Split(o.config(version{major: 7, minor: 0}, "/dir", ports), "\n")
	for _, line := range []string{
		"port 1", "tls-port 2", "cluster-port 3", "cluster-node-timeout 1500", "tls-cluster yes",
		"enable-debug-command local", "cluster-allow-replica-migration no",
	} {
		assert.Contains(t, seven, line)
	}
	six := o.config(version{major: 6, minor: 2}, "/dir", ports)
	for _, word := range []string{"cluster-port", "enable-debug-command", "cluster-allow-replica-migration"} {
		assert.NotContains(t, six, word, "unknown to version 6")
	}
}

func TestExtraConfigComesLast(t *testing.T) {
	text := Options{Config: []string{"port 7"}}.config(version{major: 7, minor: 0}, "/dir", portSet{})
	assert.True(t, strings.HasSuffix(text, "\nport 7\n"))
}

func TestQuote(t *testing.T) {
	assert.Equal(t, `"a b"`, quote("a b"))
	assert.Equal(t, `"\"\\\x0a\xc3\xa9"`, quote("\"\\\né"))
}
