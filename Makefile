# Run `make` to see the targets. What a target needs and the machine lacks is installed by .ci/deps: with
# apt-get on Debian and Ubuntu, with Homebrew on macOS, else a list says what to install.

SHELL := bash
.DEFAULT_GOAL := help

ARGS ?=
FUZZTIME ?= 5s
BENCHFLAGS ?=
GOLANGCI_LINT ?= github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Start the demo with everything it needs and print its address (ARGS="--addr 127.0.0.1:8080")
	@.ci/deps demo
	go run ./example-app serve $(ARGS)

.PHONY: spotlight
spotlight: ## Start the demo with Spotlight, Sentry's viewer for one's own machine, on http://127.0.0.1:8969
	@.ci/deps spotlight
	@.ci/spotlight/run demo $(ARGS)

.PHONY: test
test: ## Run all tests with the race detector, in random order; a skipped test is a failure
	@.ci/deps test
	@.ci/test

.PHONY: golden
golden: ## Compare both paths with the recorded answers of a real PostgREST (V=1: by group)
	@.ci/deps test
	@go run ./dbaccess/internal/golden

.PHONY: bench
bench: ## Measure the budgets against peers and write the README's table (ARGS=-quick: a first impression)
	@.ci/deps test
	@cd internal/bench && go run . -readme ../../README.md $(ARGS)

.PHONY: gobench
gobench: ## Run the benchmarks of all packages (BENCHFLAGS="-count 5")
	@.ci/deps test
	@.ci/each bench -benchmem $(BENCHFLAGS)

.PHONY: field
field: ## Replay the cases reported from the field
	@.ci/deps test
	FIELD=1 go test -count 1 -timeout 30m -run '^TestFieldCase' -v ./...

.PHONY: fuzz
fuzz: ## Run every fuzz target for a while (FUZZTIME=1m)
	@.ci/deps test
	@.ci/each fuzz $(FUZZTIME)

.PHONY: lint
lint: ## Run golangci-lint as .golangci.yml says; the first time builds it, which takes minutes
	go run $(GOLANGCI_LINT) run ./...

.PHONY: fmt
fmt: ## Format all Go code
	gofmt -w .

.PHONY: ci
ci: ## Run everything a change must pass: format, tidy, vet, staticcheck, tests, golden, fuzz, benchmarks
	@.ci/deps ci
	@FUZZTIME=$(FUZZTIME) .ci/check

.PHONY: deps
deps: ## Install what the targets above need
	@.ci/deps ci
