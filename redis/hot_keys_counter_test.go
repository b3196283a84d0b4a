package redis

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The keys of the requests have a Zipf distribution. The sample shows the ten most frequent of a
// million keys, and approximately how frequent they are.
func TestHotKeysRecall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds under the race detector")
	}
	synctest.Test(t, func(t *testing.T) { // no time passes
		c := newHotCounter(1)
		r := rand.New(rand.NewPCG(1, 2))
		zipf := rand.NewZipf(r, 1.01, 1, 1e6)
		const n = 10_000_000 / sampleEvery
		exact := map[string]int{}
		for range n {
			key := fmt.Sprint(zipf.Uint64())
			exact[key]++
			c.count([]string{key}, 100)
		}
		for unit := range hotUnits {
			top := c.top(unit, 10)
			require.Len(t, top, 10)
			found := 0
			for _, k := range top {
				if len(k.Key) == 1 { // one of the ten most frequent keys
					found++
				}
				assert.InDelta(t, float64(exact[k.Key])/n, k.Share, 0.001, k.Key)
			}
			assert.GreaterOrEqual(t, found, 9, "unit %d: %v", unit, top)
			assert.Len(t, c.of[unit].entries, hotMost)
			assert.Len(t, c.of[unit].byKey, hotMost)
		}
	})
}

// A key with few large values has many bytes but few requests. The keys of a request share its
// bytes.
func TestHotKeysUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newHotCounter(1)
		for range 8 {
			c.count([]string{"often"}, 100)
		}
		c.count([]string{"large", "too"}, 3200)
		c.count(nil, 1e6)
		assert.Equal(t, []HotKey{{"often", false, 0.8, 8 * sampleEvery}}, c.top(hotRequests, 1))
		assert.Equal(t, []HotKey{{"large", true, 0.4, 1600 * sampleEvery}, {"too", true, 0.4, 1600 * sampleEvery}}, c.top(hotBytes, 2))
		assert.Len(t, c.top(hotBytes, 9), 3)
		assert.Empty(t, c.top(hotBytes, -1))
	})
}

// Rate is that of recent requests, and the share of a key that is no longer used falls.
func TestHotKeysFade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newHotCounter(1)
		use := func(key string, seconds int) {
			for range seconds * 4 {
				time.Sleep(time.Second / 4)
				c.count([]string{key}, 1)
			}
		}
		use("old", 100)
		assert.InDelta(t, 4*sampleEvery, c.top(hotRequests, 1)[0].Rate, 5)
		use("new", 20)
		top := c.top(hotRequests, 2)
		require.Equal(t, "new", top[0].Key)
		assert.InDelta(t, 0.75, top[0].Share, 0.02)
		assert.InDelta(t, 3*sampleEvery, top[0].Rate, 5)
		time.Sleep(10 * time.Minute)
		assert.Less(t, c.top(hotRequests, 1)[0].Rate, 1e-9)
		time.Sleep(1000 * time.Hour)
		assert.Empty(t, c.top(hotRequests, 1))
		c.count([]string{"again"}, 1)
		assert.Equal(t, 1.0, c.top(hotRequests, 1)[0].Share)
	})
}

// A key becomes hot once, and again after its share has fallen below half. Chance makes no key hot:
// neither because few requests were counted, nor because the key has taken over the count of
// another one.
func TestHotKeysTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newHotCounter(0.1)
		rare := 0
		use := func(hot, others int) (told []string) {
			for i := range max(hot, others) {
				if i < others {
					rare++
					for _, k := range c.count([]string{fmt.Sprint("rare", rare)}, 1) {
						told = append(told, k.Key)
					}
				}
				if i < hot {
					for _, k := range c.count([]string{"hot"}, 1) {
						told = append(told, fmt.Sprint(k.Key, k.Bytes))
					}
				}
			}
			return told
		}
		require.Empty(t, use(50, 200))
		require.Equal(t, []string{"hotfalse", "hottrue"}, use(50, 2000)[:2])
		require.Empty(t, use(1000, 5000), "known")
		for range 12 {
			time.Sleep(hotHalving)
			require.Empty(t, use(60, 940), "its share falls, but not below half")
		}
		for range 12 {
			time.Sleep(hotHalving)
			require.Empty(t, use(0, 1000))
		}
		require.Len(t, use(1000, 1000), 2)
	})
}

// A kept key does not keep its whole request in memory.
func TestKeysAreCopies(t *testing.T) {
	c, request := newHotCounter(1), "GET key"
	c.count([]string{request[4:]}, 1)
	for unit := range hotUnits {
		for key := range c.of[unit].byKey {
			assert.NotSame(t, unsafe.StringData(request[4:]), unsafe.StringData(key))
		}
		assert.NotSame(t, unsafe.StringData(request[4:]), unsafe.StringData(c.of[unit].entries[0].key))
	}
}

// Memory is bounded, even with the longest keys.
func TestMemory(t *testing.T) {
	c := newHotCounter(1)
	for i := range 10 * hotMost {
		c.count([]string{strings.Repeat("k", i)}, 1)
	}
	assert.Len(t, c.of[hotRequests].entries, hotMost)
	assert.Len(t, c.of[hotRequests].byKey, hotMost)
}
