package memory

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/values"
)

// A copied value shares no memory that can be modified.
func TestCopied(t *testing.T) {
	t.Parallel()
	text, number := []byte("text"), big.NewInt(1)
	list := []any{text, int64(1), nil, map[string]any{"key": []byte("v")}, number}
	c := values.CopyResult(list).([]any)
	require.Equal(t, list, c)
	clear(text)
	number.SetInt64(2)
	clear(list[3].(map[string]any)["key"].([]byte))
	list[1] = nil
	assert.Equal(t, []any{[]byte("text"), int64(1), nil, map[string]any{"key": []byte("v")}, big.NewInt(1)}, c)
}
