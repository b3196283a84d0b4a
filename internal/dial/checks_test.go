package dial

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

func TestParseRole(t *testing.T) {
	for role, res := range map[Role]any{
		RoleMaster:  []any{[]byte("master"), int64(0), []any{}},
		RoleReplica: []any{[]byte("slave"), []byte("127.0.0.1"), int64(1), []byte("connected"), int64(0)},
	} {
		got, err := ParseRole(res)
		require.NoError(t, err)
		require.Equal(t, role, got)
	}
	for _, res := range []any{nil, "master", []any{}, []any{nil}, []any{[]byte("sentinel"), []any{}}, redis.ErrIO.New("gone")} {
		_, err := ParseRole(res)
		require.Error(t, err, "%v", res)
	}
}
