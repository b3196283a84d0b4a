module github.com/joomcode/redispipe/internal/lab/bench

go 1.26.0

require (
	github.com/gomodule/redigo v1.9.3
	github.com/joomcode/errorx v1.2.0
	github.com/joomcode/redispipe v0.0.0
	github.com/joomcode/redispipe/internal/lab/torture v0.0.0
	github.com/mediocregopher/radix/v4 v4.1.4
	github.com/redis/go-redis/v9 v9.23.0
	github.com/redis/rueidis v1.0.79
	github.com/stretchr/testify v1.12.1
	github.com/valkey-io/valkey-glide/go/v2 v2.5.3
	golang.org/x/sys v0.48.0
	gonum.org/v1/plot v0.17.0
)

require (
	codeberg.org/go-fonts/liberation v0.5.0 // indirect
	codeberg.org/go-latex/latex v0.2.0 // indirect
	codeberg.org/go-pdf/fpdf v0.11.1 // indirect
	git.sr.ht/~sbinet/gg v0.7.0 // indirect
	github.com/ajstarks/svgo v0.0.0-20211024235047-1546f124cd8b // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/joomcode/redispipe/internal/lab/oracle v0.0.0 // indirect
	github.com/tilinna/clock v1.0.2 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/image v0.30.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	google.golang.org/protobuf v1.33.0 // indirect
)

replace github.com/joomcode/redispipe => ../../..

replace github.com/joomcode/redispipe/internal/lab/oracle => ../oracle

replace github.com/joomcode/redispipe/internal/lab/torture => ../torture
