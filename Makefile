# Needs go and make, nothing else. `make` lists the targets.
# Works with GNU make 3.81 and POSIX sh, so on macOS as it comes.

GO ?= go
# What a target is run on: all packages, or PKG=./redisconn.
PKG ?= ./...
# More flags for go test: make test TESTFLAGS='-run Reconnect -v'.
TESTFLAGS ?=
# If test or race has no more failing tests than this, and no data race or panic, they run
# once more, and it fails only with those that fail again. Which did is in build/reruns, and
# all output in build/tests.json.
RERUN ?= 0
# Time for each fuzz target, or executions: 10s, 50000x.
FUZZTIME ?= 10s
# Time for make torture.
DURATION ?= 10m
BENCH_FLAGS ?=
# What make platforms checks; empty means all that scripts/platforms.sh lists.
PLATFORMS ?=

GOLANGCI_VERSION = v2.15.0
GOVULNCHECK_VERSION = v1.8.0
GOTESTSUM_VERSION = v1.13.0

# Tools, profiles and nothing that is committed: the directory ignores itself.
BUILD = build
GOLANGCI = $(BUILD)/golangci-lint-$(GOLANGCI_VERSION)
GOVULNCHECK = $(BUILD)/govulncheck-$(GOVULNCHECK_VERSION)
GOTESTSUM = $(BUILD)/gotestsum-$(GOTESTSUM_VERSION)

# $(call gotest,FLAGS) runs the tests of PKG.
ifeq ($(RERUN),0)
gotest = $(GO) test $1 $(TESTFLAGS) $(PKG)
else
gotest = $(GOTESTSUM) --format standard-quiet --rerun-fails=1 --rerun-fails-max-failures=$(RERUN) \
	--rerun-fails-run-root-test --rerun-fails-abort-on-data-race \
	--rerun-fails-report=$(BUILD)/reruns --jsonfile=$(BUILD)/tests.json \
	--packages='$(PKG)' -- $1 $(TESTFLAGS)
test race: $(GOTESTSUM)
endif

.DEFAULT_GOAL := help
.PHONY: help run watch test race servers fuzz bench torture cover fmt lint lint-code platforms vuln generate clean redis-server

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

run: $(if $(CLUSTER)$(SENTINEL),redis-server) ## show the library at work; REDIS_ADDR=host:port on your server, CLUSTER=1 or SENTINEL=1 on local ones
	@$(GO) run ./internal/quickstart $(if $(CLUSTER),-cluster) $(if $(SENTINEL),-sentinel) $(RUN_FLAGS)

watch: ## show the rates, batches and times of your own process; URL=http://host:port/debug/vars, or of its metrics
	@$(GO) run ./internal/quickstart -watch "$(URL)"

test: redis-server ## run all tests (installs redis-server when it is missing)
	$(call gotest)
	@scripts/bench-module.sh $(GO) test -short ./...
	@scripts/contrib.sh $(GO) test ./...

race: redis-server ## run all tests under the race detector; -short lowers iterations
	$(call gotest,-race -short)

servers: redis-server $(BUILD)/.gitignore ## run all tests with several versions of Redis and Valkey (wants python3 and pip)
	@GO="$(GO)" scripts/servers.sh $(TESTFLAGS) $(PKG)

fuzz: redis-server ## run every fuzz target for FUZZTIME (10s, or 50000x) each
	@GO="$(GO)" scripts/fuzz.sh $(FUZZTIME) $(PKG)

bench: redis-server ## compare with other clients on a local server; BENCH_FLAGS='…'
	@scripts/bench-module.sh $(GO) run . $(BENCH_FLAGS)

torture: redis-server ## inject faults for DURATION (10m) and check every outcome; CLUSTER=1 into a cluster, PUBSUB=1 under subscribers
	$(GO) run ./internal/torture/cmd/torture $(if $(CLUSTER),-cluster) $(if $(PUBSUB),-pubsub) -duration $(DURATION) $(TORTURE_FLAGS)

cover: redis-server $(BUILD)/.gitignore ## run all tests and show what they cover
	$(GO) test -short -coverpkg=./redis/...,./redisconn/...,./rediscluster/...,./redisdumb/...,./internal/topology \
		-coverprofile=$(BUILD)/cover.out $(PKG)
	$(GO) tool cover -html=$(BUILD)/cover.out -o $(BUILD)/cover.html
	@$(GO) tool cover -func=$(BUILD)/cover.out | tail -n 1
	@echo "line by line: $(BUILD)/cover.html"

fmt: ## gofmt all files
	gofmt -s -w $$(git ls-files '*.go')

lint: lint-code platforms vuln ## check the code, import directions, the lists of the API, all platforms, known vulnerabilities

lint-code: $(GOLANGCI) ## the first part of lint
	$(GO) mod tidy -diff
	$(GOLANGCI) run $(PKG)
	@scripts/bench-module.sh $(GO) vet ./...
	@scripts/contrib.sh $(GO) vet ./...
	$(GO) run ./internal/api

platforms: ## type-check code and tests for every platform
	@GO="$(GO)" scripts/platforms.sh $(PLATFORMS)

vuln: $(GOVULNCHECK) ## look for known vulnerabilities (needs the network)
	@scripts/vuln.sh $(GOVULNCHECK) ./...

generate: redis-server ## make the generated files again
	$(GO) generate ./...

clean: ## remove what the other targets made
	rm -rf $(BUILD)
	$(GO) clean -testcache

# redis-server starts nothing: it sees to it that there is one to start.
redis-server:
	@scripts/redis-server.sh

$(BUILD)/.gitignore:
	@mkdir -p $(BUILD)
	@echo '*' > $@

$(GOLANGCI): $(BUILD)/.gitignore
	@echo "building golangci-lint $(GOLANGCI_VERSION): two or three minutes, once"
	@GOBIN="$(CURDIR)/$(BUILD)" $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv $(BUILD)/golangci-lint $@

$(GOVULNCHECK): $(BUILD)/.gitignore
	@echo "building govulncheck $(GOVULNCHECK_VERSION)"
	@GOBIN="$(CURDIR)/$(BUILD)" $(GO) install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)
	@mv $(BUILD)/govulncheck $@

$(GOTESTSUM): $(BUILD)/.gitignore
	@echo "building gotestsum $(GOTESTSUM_VERSION)"
	@GOBIN="$(CURDIR)/$(BUILD)" $(GO) install gotest.tools/gotestsum@$(GOTESTSUM_VERSION)
	@mv $(BUILD)/gotestsum $@
