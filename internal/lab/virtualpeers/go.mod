module github.com/joomcode/redispipe/internal/lab/virtualpeers

go 1.26.0

require (
	github.com/bsm/redislock v0.9.4
	github.com/go-redis/redis_rate/v10 v10.0.1
	github.com/go-redsync/redsync/v4 v4.18.1
	github.com/gomodule/redigo v1.9.3
	github.com/hibiken/asynq v0.26.0
	github.com/joomcode/redispipe v0.0.0
	github.com/mediocregopher/radix/v4 v4.1.4
	github.com/redis/go-redis/v9 v9.23.0
	github.com/redis/rueidis v1.0.79
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/joomcode/errorx v1.2.0 // indirect
	github.com/joomcode/redispipe/contrib/redisrecipes v0.0.0
	github.com/joomcode/redispipe/internal/lab/oracle v0.0.0
	github.com/redis/rueidis/rueidisaside v1.0.78
	github.com/robfig/cron/v3 v3.0.1 // indirect
	github.com/spf13/cast v1.10.0 // indirect
	github.com/tilinna/clock v1.0.2 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/time v0.14.0 // indirect
	google.golang.org/protobuf v1.36.10 // indirect
)

replace github.com/joomcode/redispipe => ../../..

replace github.com/joomcode/redispipe/internal/lab/oracle => ../oracle

replace github.com/joomcode/redispipe/contrib/redisrecipes => ../../../contrib/redisrecipes
