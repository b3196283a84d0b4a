module github.com/joomcode/redispipe/internal/lab/torture

go 1.25.0

require (
	github.com/joomcode/redispipe v0.0.0
	github.com/joomcode/redispipe/internal/lab/oracle v0.0.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/joomcode/errorx v1.2.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/joomcode/redispipe => ../../..

replace github.com/joomcode/redispipe/internal/lab/oracle => ../oracle
