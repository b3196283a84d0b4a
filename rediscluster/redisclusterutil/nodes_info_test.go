package redisclusterutil

import (
	"testing"

	"github.com/joomcode/redispipe/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const clusterNodes = `07c37dfeb235213a872192d90877d0cd55635b91 127.0.0.1:30004@31004 slave e7d1eecce10fd6bb5eb35b9f99a514335d9ba9ca 0 1426238317239 4 connected
67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1 127.0.0.1:30002@31002,host-2.example master - 0 1426238316232 2 connected 5461-10922
292f8b365bb7edb5e285caf0b7e6ddc7265d2f4f ::1:60003@60100,host-3.example,shard-id=69bc master,fail? - 0 1426238318243 3 disconnected 10923-16382 16383
6ec23923021cf3ffec47632106199cb7f496ce01 :0@0 slave,fail,noaddr 67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1 0 1426238316232 5 disconnected
824fe116063bc5fcf9f4ffd895bc17aee7731ac3 127.0.0.1:60006 slave,fail 292f8b365bb7edb5e285caf0b7e6ddc7265d2f4f 0 1426238317741 6 connected
e7d1eecce10fd6bb5eb35b9f99a514335d9ba9ca 127.0.0.1:30001@31001,,shard-id=x myself,master - 0 0 18446744073709551615 connected 0-5460 [93-<-292f8b365bb7edb5e285caf0b7e6ddc7265d2f4f] [77->-67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1]
`

func TestParseClusterNodes(t *testing.T) {
	infos, err := ParseClusterNodes([]byte(clusterNodes))
	require.NoError(t, err)
	want := InstanceInfos{
		{Uuid: "07c37dfeb235213a872192d90877d0cd55635b91", Addr: "127.0.0.1:30004", IP: "127.0.0.1", Port: 30004, Port2: 31004,
			SlaveOf: "e7d1eecce10fd6bb5eb35b9f99a514335d9ba9ca", ConfigEpoch: 4, Connected: true},
		{Uuid: "67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1", Addr: "127.0.0.1:30002", IP: "127.0.0.1", Port: 30002, Port2: 31002,
			Hostname: "host-2.example", ConfigEpoch: 2, Connected: true, Slots: [][2]uint16{{5461, 10922}}},
		{Uuid: "292f8b365bb7edb5e285caf0b7e6ddc7265d2f4f", Addr: "[::1]:60003", IP: "::1", Port: 60003, Port2: 60100,
			Hostname: "host-3.example", PFail: true, ConfigEpoch: 3, Slots: [][2]uint16{{10923, 16382}, {16383, 16383}}},
		{Uuid: "6ec23923021cf3ffec47632106199cb7f496ce01", Addr: ":0", NoAddr: true, Fail: true,
			SlaveOf: "67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1", ConfigEpoch: 5},
		{Uuid: "824fe116063bc5fcf9f4ffd895bc17aee7731ac3", Addr: "127.0.0.1:60006", IP: "127.0.0.1", Port: 60006, Fail: true,
			SlaveOf: "292f8b365bb7edb5e285caf0b7e6ddc7265d2f4f", ConfigEpoch: 6, Connected: true},
		{Uuid: "e7d1eecce10fd6bb5eb35b9f99a514335d9ba9ca", Addr: "127.0.0.1:30001", IP: "127.0.0.1", Port: 30001, Port2: 31001,
			MySelf: true, ConfigEpoch: 1<<64 - 1, Connected: true, Slots: [][2]uint16{{0, 5460}},
			Migrating: []SlotMigration{
				{Number: 93, Moving: SlotImporting, Peer: "292f8b365bb7edb5e285caf0b7e6ddc7265d2f4f"},
				{Number: 77, Moving: SlotMigrating, Peer: "67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1"},
			}},
	}
	assert.Equal(t, want, infos)
	assert.Equal(t, "e7d1eecce10fd6bb5eb35b9f99a514335d9ba9ca", infos.MySelf().Uuid)
	assert.True(t, infos[1].IsMaster())
	assert.False(t, infos[0].IsMaster())
	assert.False(t, infos[3].HasAddr())

	empty, err := ParseClusterNodes("\n\r\n")
	require.NoError(t, err)
	assert.Empty(t, empty)
	assert.Nil(t, empty.MySelf())
}

func TestParseClusterNodesMalformed(t *testing.T) {
	line := func(addr, epoch, slots string) string {
		return "id " + addr + " master - 0 0 " + epoch + " connected " + slots
	}
	for name, in := range map[string]any{
		"nil":        nil,
		"array":      []any{},
		"garbage":    "hello",
		"no port":    line("127.0.0.1", "1", ""),
		"port":       line("127.0.0.1:65536@1", "1", ""),
		"bus port":   line("127.0.0.1:1@x", "1", ""),
		"epoch":      line("127.0.0.1:1@1", "-1", ""),
		"slot":       line("127.0.0.1:1@1", "1", "16384"),
		"slot range": line("127.0.0.1:1@1", "1", "5-4"),
		"open range": line("127.0.0.1:1@1", "1", "5-"),
		"slot text":  line("127.0.0.1:1@1", "1", "x"),
		"move":       line("127.0.0.1:1@1", "1", "[5]"),
		"move slot":  line("127.0.0.1:1@1", "1", "[16384->-id]"),
		"move peer":  line("127.0.0.1:1@1", "1", "[5->-]"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseClusterNodes(in)
			require.Error(t, err)
			assert.True(t, redis.AsErrorx(err).IsOfType(redis.ErrResponseUnexpected))
		})
	}
}

func TestParseInfo(t *testing.T) {
	info, err := ParseInfo([]byte("# Replication\r\nrole:slave\r\nmaster_host:::1\r\n\r\nx\r\n"))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"role": "slave", "master_host": "::1"}, info)
	_, err = ParseInfo(int64(1))
	assert.Error(t, err)
}
