package dial

import (
	"testing"

	"github.com/joomcode/errorx"
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

// checkMember refuses nodes of other clusters and servers without a cluster. It accepts servers
// that do not tell.
func TestCheckMember(t *testing.T) {
	members := map[string]bool{"aa": true, "bb": true}
	for name, tt := range map[string]struct {
		res  any
		want *errorx.Type // nil: accepted
	}{
		"a member":        {[]byte("bb"), nil},
		"another":         {[]byte("cc"), ErrStranger},
		"no cluster":      {redis.ErrResult.New("ERR This instance has cluster support disabled"), ErrStranger},
		"no right to ask": {redis.ErrResult.New("NOPERM no"), nil},
		"a proxy":         {redis.ErrResult.New("ERR unknown command 'CLUSTER'"), nil},
		"nothing":         {nil, ErrStranger},
		"it is loading":   {redis.ErrLoading.New("LOADING"), ErrConnSetup},
		"not an ID":       {int64(1), ErrStranger},
	} {
		err := checkMember(members)(tt.res)
		if tt.want == nil {
			require.Nil(t, err, name)
			continue
		}
		require.NotNil(t, err, name)
		require.True(t, err.IsOfType(tt.want), "%s: %v", name, err)
	}
	require.Empty(t, (&Config{}).members())
}
