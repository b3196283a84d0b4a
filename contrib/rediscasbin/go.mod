module github.com/joomcode/redispipe/contrib/rediscasbin

go 1.26.0

require (
	github.com/casbin/casbin/v3 v3.10.0
	github.com/joomcode/redispipe v0.0.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/bmatcuk/doublestar/v4 v4.6.1 // indirect
	github.com/casbin/govaluate v1.3.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/joomcode/errorx v1.2.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/joomcode/redispipe => ../..
