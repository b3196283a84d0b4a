package slot

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCRC16(t *testing.T) {
	assert.EqualValues(t, 0x31C3, CRC16("123456789"), "the example of the specification")
	assert.EqualValues(t, 0, CRC16(""))
	assert.Equal(t, CRC16("{a}"), CRC16([]byte("{a}")))
	assert.NotEqual(t, CRC16("{a}"), CRC16("a"))
}

// The expected slots are those of CLUSTER KEYSLOT of redis-server 7.0.
func TestOf(t *testing.T) {
	for key, want := range map[string]uint16{
		"":              0,
		"foo":           12182,
		"bar":           5061,
		"hello":         866,
		"somekey":       11058,
		"foo{hash_tag}": 2515,
		"bar{hash_tag}": 2515,
		"{hash_tag}":    2515,
		"hash_tag":      2515,
		"{hash_tag":     9907,
		"foo{}{bar}":    8363,
		"foo{{bar}}zap": 4015,
		"foo{bar}{zap}": 5061,
		"}{bar}":        5061,
		"{}":            15257,
		"\x00\xff\r\n":  6261,
		"123456789":     12739,
	} {
		assert.Equal(t, want, Of(key), "%q", key)
		assert.Equal(t, want, Of([]byte(key)), "%q", key)
	}
}

func TestOfAllocates(t *testing.T) {
	key, bytes := "some{long}"+strings.Repeat("k", 100), []byte(strings.Repeat("k", 100))
	assert.Zero(t, testing.AllocsPerRun(100, func() { _, _ = Of(key), Of(bytes) }))
}

// slowCRC16 computes the sum bit by bit.
func slowCRC16(key string) (crc uint16) {
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ crc16Poly
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}

func FuzzOf(f *testing.F) {
	for _, key := range []string{"", "foo", "{a}b", "a{}b", "{{a}}", "}{", "{a", "\x00{\xff}"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		tag := key
		if _, rest, opens := strings.Cut(key, "{"); opens {
			if inside, _, closes := strings.Cut(rest, "}"); closes && inside != "" {
				tag = inside
			}
		}
		require.Equal(t, slowCRC16(tag)%Count, Of(key))
		require.Equal(t, Of(key), Of([]byte(key)))
		require.Equal(t, slowCRC16(key), CRC16(key))
	})
}

// Each slot has its own rank, and neighbouring slots have distant ranks.
func TestRank(t *testing.T) {
	seen := [Count]bool{}
	for s := range Count {
		r := Rank(s)
		require.False(t, seen[r])
		seen[r] = true
		if s > 0 {
			require.Greater(t, max(r, Rank(s-1))-min(r, Rank(s-1)), Count/4)
		}
	}
}
