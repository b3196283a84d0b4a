module github.com/joomcode/redispipe/internal/lab/proxies

go 1.26.0

require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/joomcode/redispipe v0.0.0
	github.com/redis/go-redis/v9 v9.23.0
	github.com/redis/rueidis v1.0.79
)

require github.com/yuin/gopher-lua v1.1.1 // indirect

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/joomcode/errorx v1.2.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
)

replace github.com/joomcode/redispipe => ../../..
