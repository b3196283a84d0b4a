package dedicated

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

func TestIdentity(t *testing.T) {
	info := "# Server\r\nredis_version:7.4.0\r\nrun_id:0123abc\r\ntcp_port:6379\r\n"
	noperm := redis.ErrResult.New("NOPERM no permissions")
	for name, c := range map[string]struct {
		client, server any
		want           identity
		failed         string
	}{
		"known":          {int64(7), []byte(info), identity{client: 7, server: "0123abc"}, ""},
		"no client":      {noperm, []byte(info), identity{server: "0123abc"}, "CLIENT ID"},
		"no server":      {int64(7), noperm, identity{client: 7}, "INFO"},
		"strange":        {"seven", []byte(info), identity{server: "0123abc"}, "unexpected answer to CLIENT ID"},
		"without run_id": {int64(7), []byte("# Server\r\n"), identity{client: 7}, "unexpected answer to INFO"},
	} {
		t.Run(name, func(t *testing.T) {
			var id identity
			steps := id.ask()
			require.Nil(t, steps[0].Check(c.client))
			require.Nil(t, steps[1].Check(c.server))
			if c.failed == "" {
				require.Nil(t, id.err)
			} else {
				require.True(t, id.err.IsOfType(errNotUnblocked))
				require.ErrorContains(t, id.err, c.failed)
			}
			id.err = nil
			require.Equal(t, c.want, id)
		})
	}
}
