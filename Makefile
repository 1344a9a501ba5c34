# A thin layer over CMake: what a user or a developer types. `make help` lists it.

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
SYNDROME = build/bin/syndrome
SOURCES = $(shell git ls-files --cached --others --exclude-standard '*.cc' '*.h')

.DEFAULT_GOAL := build
.PHONY: help deps build everything demo test soak test-tsan test-real test-hardened web test-web pictures fuzz bench bench-capture bench-live results format lint \
	sanitize install package clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-18s%s\n", $$1, $$2}'

deps:  ## install the Debian packages that building and testing need, if any is missing
	@scripts/deps build

build: deps  ## the program: build/bin/syndrome
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release --target syndrome --parallel $(JOBS)

everything: deps  ## the program, its tests and its benchmarks
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release --parallel $(JOBS)

demo: build  ## build, record and check a program that loses updates although all is locked
	@mkdir -p build/demo
	@for step in 'c++ -g -std=c++20 -pthread examples/visits.cc -o build/demo/visits' \
	  'record -o build/demo/visits.syn -- build/demo/visits' 'check build/demo/visits.syn'; do \
	  echo "$$ $(SYNDROME) $$step"; $(SYNDROME) $$step || test $$? -eq 1 || exit 1; done

test: everything  ## build everything and run every test (LABEL=unit, program or slow: only those)
	@scripts/test --preset release --parallel $(JOBS) $(if $(LABEL),-L '^$(LABEL)$$')

soak: everything  ## each clean program recorded 20 times, and 200 recordings killed
	@build/bin/run_programs --runs 20 --clean $(filter-out %_part.c,$(wildcard tests/programs/*/*.c tests/programs/*/*.cc))
	@SYNDROME_KILLS=200 build/bin/kill_test

test-tsan: everything  ## races beside ThreadSanitizer: each program 20 times both ways (RUNS=20)
	@scripts/deps lint
	@build/bin/tsan_agreement --runs $(or $(RUNS),20) $(filter-out %_part.c,$(wildcard tests/programs/*/*.c tests/programs/*/*.cc))

test-real: build  ## real programs from Debian, plain, under TSan and under syndrome run (PROGRAMS=… ROUNDS=3 TABLE=docs/case-studies.md)
	@scripts/deps lint real
	@tests/real/real --rounds $(or $(ROUNDS),3) $(if $(TABLE),--table $(TABLE)) $(PROGRAMS)

test-hardened: build  ## pbzip2 from Debian's sources, hardened: the same output (ROUNDS=5)
	@scripts/deps lint real
	@tests/real/hardened --rounds $(or $(ROUNDS),5)

web:  ## the page of --format html, from web/src into web/dist, which is kept (needs Node 20.19)
	@cd web && npm install --no-save && npm run build

test-web: build  ## the page in a browser, with screenshots in build/web-pictures
	@scripts/deps web
	@scripts/test-web $(SYNDROME) build/web-pictures

pictures: build  ## the screenshots of docs/pictures, made again
	@scripts/deps web
	@cd web && npm install --no-save --silent && SYNDROME=../$(SYNDROME) node pictures.mjs

fuzz: everything  ## hundreds of thousands of random traces: every check against its oracle
	@for fuzzer in build/bin/*_fuzz; do echo "$$fuzzer"; $$fuzzer $(COUNT) $(SEED) || exit 1; done

bench: everything  ## micro-benchmarks and the end-to-end table
	@bench/run.sh

bench-capture: everything  ## what recording costs, beside ThreadSanitizer (ROUNDS=5)
	@scripts/deps lint
	@build/bin/bench_capture build/bin bench/programs $(or $(ROUNDS),5)

bench-live: everything  ## what `syndrome run` costs, beside ThreadSanitizer (ROUNDS=5)
	@scripts/deps lint
	@build/bin/bench_capture --live build/bin bench/programs $(or $(ROUNDS),5)

results: everything  ## the papers' tables beside ours, into docs/results.md (ONLY=singletrack ROUNDS=3)
	@scripts/deps lint
	@ONLY='$(ONLY)' ROUNDS='$(ROUNDS)' bench/results.sh

format:  ## lay out the sources as .clang-format says
	@scripts/deps lint
	@clang-format-19 -i $(SOURCES)

lint:  ## layout, clang-tidy, and a build with the other compiler
	@scripts/deps build lint
	@JOBS=$(JOBS) scripts/lint

sanitize:  ## the tests under AddressSanitizer and UBSan, those with threads of ours under ThreadSanitizer
	@scripts/deps build lint
	@JOBS=$(JOBS) scripts/sanitize

install: build  ## into PREFIX (/usr/local unless given)
	@cmake --install build --prefix $(PREFIX)

package: build  ## build/syndrome_VERSION_ARCH.deb
	@scripts/deps package
	@cd build && cpack

clean:  ## remove build/
	@rm -rf build
