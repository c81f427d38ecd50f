# Holdfast. SwiftPM builds; this file adds what a manifest cannot say (a statically linked Swift runtime, the
# list of exported symbols, the soname) and strings the tests together. `make help` lists the targets.

VERSION := 0.1.0
SONAME := libholdfast.so.0

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDES = $(PREFIX)/include/holdfast
DOCUMENTS = $(PREFIX)/share/doc/holdfast
DESTDIR ?=
CC ?= cc
PYTHON ?= python3

BUILD := $(CURDIR)/.build
LIBRARY_DIRECTORY := $(BUILD)/holdfast
LIBRARY := $(LIBRARY_DIRECTORY)/libholdfast.so.$(VERSION)
BUILT_LIBRARY := $(BUILD)/release-library/release/libholdfast.so
DEMO_PREFIX := $(BUILD)/demo-prefix
VENV := $(BUILD)/venv

# What the library is built with, what its examples take besides, and what the tests do.
LIBRARY_PACKAGES := build-essential libjansson-dev libpcre2-dev libsqlite3-dev libstemmer-dev pkg-config
DEMO_PACKAGES := $(LIBRARY_PACKAGES) iso-codes python3
PACKAGES := $(DEMO_PACKAGES) chromium chromium-driver clang-format libcmocka-dev libpq5 pgbouncer postgresql python3-venv \
    sqlite3 valgrind zsh

C_WARNINGS := -Wall -Wextra -Wpedantic -Werror
# How the tests' programs in C are compiled, and linked with the library that lies in a folder.
C_TEST_FLAGS := -D_GNU_SOURCE -g -Wall -Wextra -Werror -Iinclude -Ibindings/c/include
linked_with = -L$(1) -lholdfast -Wl,-rpath,$(1)
LINKED := $(call linked_with,$(LIBRARY_DIRECTORY))
HEADERS := $(wildcard include/holdfast/*.h)
# What is no part of the library: for the tests of programs that use it.
TEST_HEADERS := bindings/c/include/holdfast/testing.h
DOCUMENTED := $(wildcard docs/guides/*.md) LICENSE bindings/c/holdfast.supp
C_FILES = $(shell find include Sources Tests bindings packaging -name '*.[ch]' -not -path '*/build/*')
ABI_SHARED := $(addprefix Tests/ABI/,support.c actions.c indexes.c listener.c members.c scene.c shelf.c state_table.c \
    every_function.c)
ABI_TESTS := $(patsubst Tests/ABI/%.c,%,$(wildcard Tests/ABI/test_*.c))
TEST_PARTS := test-python test-swift test-races test-thread-sanitizer test-benchmarks test-package test-hosts test-site \
    test-fuzz-short test-swift-provider test-distribution test-simulator test-growth test-payload test-install test-contract \
    test-headers test-mutants test-symbols
# They mostly wait: they run beside the others, one after the other.
WAITING_TEST_PARTS := test-abi test-torture-short test-postgresql

# Swift's backtracer may hang after a crash where there is no terminal.
export SWIFT_BACKTRACE := enable=no
# Whatever is said outside: the many programs that tests start would compile all of the package each time.
export PYTHONDONTWRITEBYTECODE :=
# The package has libraries that only the tests want.
export HOLDFAST_TEST_LIBRARIES := 1
# Where the Python package finds the library to load or to bundle.
export HOLDFAST_LIBRARY := $(LIBRARY)

.NOTPARALLEL:
.PHONY: help library install uninstall dependencies demo demo-dependencies demo-c demo-python demo-swift test $(TEST_PARTS) \
    $(WAITING_TEST_PARTS) thread-sanitizer soak-python torture-postgresql aggregation-memory site documentation lint format clean

help: ## Lists the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- Build ------------------------------------------------------------------------------------------

# What takes the runtime's locks: see Sources/CHoldfastPlatform/runtime_locks.c.
RUNTIME_LOCKS := pthread_mutex_lock pthread_mutex_unlock __cxa_guard_acquire __cxa_guard_release \
    _ZN5swift14threading_impl9once_slowERNS0_6once_tEPFvPvES3_
# What only tells the names of Unicode's scalars: see Sources/CHoldfastPlatform/unicode_names.c.
RUNTIME_NAMES := _swift_stdlib_getNameAlias _swift_stdlib_getScalarName

# Its own scratch path: other flags than the tests' must not rebuild everything. The runtime is linked
# statically and no run path is set, so the library can be moved; it cannot be unloaded, because its
# threads and the Swift runtime cannot. Its targets are optimised across their walls: counted in instructions, a
# cached read costs a sixth less for it, and a commit is within 3 % of what it was as one module. What debuggers
# want lies in a file beside it, in DWARF's version 4: valgrind 3.19 ends a program whose library has the next one.
# Each function lies in a section of its own: those that nothing calls are left out (--gc-sections), and those whose
# code came out the same are kept once (--icf=safe: only where nothing takes their address).
RELEASE = swift build -c release --scratch-path $(BUILD)/release-library \
    --explicit-target-dependency-import-check error --disable-local-rpath -Xswiftc -static-stdlib \
    -Xswiftc -cross-module-optimization -Xswiftc -dwarf-version=4 -Xcc -gdwarf-4 -Xcc -DHOLDFAST_OWN_RUNTIME \
    -Xswiftc -Xfrontend -Xswiftc -function-sections -Xcc -ffunction-sections \
    -Xlinker --gc-sections -Xlinker --icf=safe $(foreach function,$(RUNTIME_LOCKS) $(RUNTIME_NAMES),-Xlinker --wrap=$(function))

library: ## Builds .build/holdfast/libholdfast.so
	$(RELEASE) --product holdfast -Xlinker --version-script=$(CURDIR)/bindings/c/exports.map \
	    -Xlinker -soname=$(SONAME) -Xlinker -z -Xlinker nodelete
	@mkdir -p $(LIBRARY_DIRECTORY)
	@[ $(LIBRARY) -nt $(BUILT_LIBRARY) ] || { \
	    objcopy --only-keep-debug --remove-section=.debug_names $(BUILT_LIBRARY) $(LIBRARY).debug && \
	    objcopy --strip-all --add-gnu-debuglink=$(LIBRARY).debug $(BUILT_LIBRARY) $(LIBRARY).new && \
	    mv $(LIBRARY).new $(LIBRARY); }
	@ln -sf $(notdir $(LIBRARY)) $(LIBRARY_DIRECTORY)/$(SONAME)
	@ln -sf $(SONAME) $(LIBRARY_DIRECTORY)/libholdfast.so

# Folders may have spaces in their names.
install: library ## Installs library, headers, guides and holdfast.pc under PREFIX (/usr/local), LIBDIR (PREFIX/lib), DESTDIR
	install -d "$(DESTDIR)$(LIBDIR)/pkgconfig" "$(DESTDIR)$(INCLUDES)" "$(DESTDIR)$(DOCUMENTS)"
	install -m 755 $(LIBRARY) "$(DESTDIR)$(LIBDIR)/"
	install -m 644 $(LIBRARY).debug "$(DESTDIR)$(LIBDIR)/"
	ln -sf $(notdir $(LIBRARY)) "$(DESTDIR)$(LIBDIR)/$(SONAME)"
	ln -sf $(SONAME) "$(DESTDIR)$(LIBDIR)/libholdfast.so"
	install -m 644 $(HEADERS) $(TEST_HEADERS) "$(DESTDIR)$(INCLUDES)/"
	install -m 644 include/holdfast.h bindings/cpp/holdfast.hpp "$(DESTDIR)$(PREFIX)/include/"
	install -m 644 $(DOCUMENTED) "$(DESTDIR)$(DOCUMENTS)/"
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' bindings/c/holdfast.pc.in \
	    > "$(DESTDIR)$(LIBDIR)/pkgconfig/holdfast.pc"
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ]; then ldconfig; fi

# What is left empty goes, too, up to the first folder that is not.
uninstall: ## Removes what install put there
	cd "$(DESTDIR)$(LIBDIR)" && rm -f libholdfast.so $(SONAME) $(notdir $(LIBRARY)) $(notdir $(LIBRARY)).debug \
	    pkgconfig/holdfast.pc
	cd "$(DESTDIR)$(INCLUDES)" && rm -f ../holdfast.h ../holdfast.hpp $(notdir $(HEADERS) $(TEST_HEADERS))
	cd "$(DESTDIR)$(DOCUMENTS)" && rm -f $(notdir $(DOCUMENTED))
	cd "$(DESTDIR)/" && rmdir --parents --ignore-fail-on-non-empty ".$(LIBDIR)/pkgconfig" ".$(INCLUDES)" ".$(DOCUMENTS)"

# One at a time, since two parts of the tests may each want some.
dependencies: ## Installs the Debian packages that are missing
	@command -v swift > /dev/null || { echo "Swift 6.3 is needed: https://www.swift.org/install/linux" >&2; exit 1; }
	@missing=; \
	for package in $(PACKAGES); do \
	    dpkg -s $$package 2> /dev/null | grep -q '^Status: install ok installed' || missing="$$missing $$package"; \
	done; \
	[ -n "$$missing" ] || exit 0; \
	root=; [ "$$(id -u)" -eq 0 ] || root=sudo; \
	echo "Installing:$$missing"; \
	{ flock $(CURDIR) $$root apt-get update -qq && \
	    flock $(CURDIR) $$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing; } \
	    < /dev/null || { echo "Could not install:$$missing. Install them by hand and run make again." >&2; exit 1; }

# --- Examples ---------------------------------------------------------------------------------------

demo: demo-dependencies library demo-c demo-python demo-swift ## Installs what they need, and runs the examples in C, Python and Swift

# By themselves, because the tests take a browser, a server and more.
demo-dependencies:
	@$(MAKE) --no-print-directory dependencies PACKAGES="$(DEMO_PACKAGES)"

demo-c:
	@$(MAKE) --no-print-directory install PREFIX=$(DEMO_PREFIX) > /dev/null
	PKG_CONFIG_PATH=$(DEMO_PREFIX)/lib/pkgconfig; export PKG_CONFIG_PATH; \
	for example in iso_registers event_loop pie_chart json_directory; do \
	    $(CC) -o $(BUILD)/$$example bindings/c/examples/$$example.c \
	        $$(pkg-config --cflags --libs holdfast jansson) -Wl,-rpath,$(DEMO_PREFIX)/lib && \
	    $(BUILD)/$$example || exit 1; \
	done

# As it lies in the sources: the package needs the standard library alone, and no environment of its own.
demo-python: library
	@for example in iso_registers pie_chart country_tree shelve_provider; do \
	    PYTHONPATH=bindings/python $(PYTHON) bindings/python/examples/$$example.py || exit 1; \
	done

# As the library is built, so that nothing of it is compiled again.
demo-swift:
	@for example in IsoRegisters PieChart; do \
	    $(RELEASE) --product $$example && $(BUILD)/release-library/release/$$example || exit 1; \
	done

# --- Tests ------------------------------------------------------------------------------------------

# What two parts would build or install in the same place comes first. The longest parts begin first.
test: dependencies library $(VENV)/tools $(VENV)/site $(VENV)/lmdb ## Runs every test; says at the end which parts failed, and why
	Tests/Parts/run.sh "$(BUILD)/test" $(TEST_PARTS) beside $(WAITING_TEST_PARTS)

test-headers: ## Each header alone, C99 and C++17, with every compiler here
	Tests/Headers/check.sh

test-payload: ## The payload parser under the address and undefined-behaviour sanitizers
	@mkdir -p $(BUILD)/payload
	$(CC) -std=c99 -g $(C_WARNINGS) -fsanitize=address,undefined -fno-sanitize-recover=all \
	    Tests/Payload/*.c Sources/CHoldfastPayload/*.c -ISources/CHoldfastPayload/include \
	    -o $(BUILD)/payload/tests -ljansson -lcmocka
	$(BUILD)/payload/tests

test-abi: library $(addprefix $(BUILD)/abi/,$(ABI_TESTS)) ## The C contract, against the release library
	@failed=; \
	for test in $(ABI_TESTS); do \
	    timeout 900 $(BUILD)/abi/$$test || failed="$$failed $$test"; \
	done; \
	if [ -n "$$failed" ]; then echo "FAILED:$$failed" >&2; exit 1; fi

ABI_FLAGS := -std=c99 -O1 $(C_TEST_FLAGS) -DHOLDFAST_VERSION='"$(VERSION)"'
ABI_HEADERS := $(wildcard Tests/ABI/*.h) include/holdfast.h $(HEADERS) $(TEST_HEADERS)

$(BUILD)/abi/%: Tests/ABI/%.c $(BUILD)/abi/shared.o $(ABI_HEADERS)
	$(CC) $(ABI_FLAGS) $< $(BUILD)/abi/shared.o -o $@ $(LINKED) -lcmocka -ljansson -pthread

# What all of them share, compiled once.
$(BUILD)/abi/shared.o: $(ABI_SHARED) $(ABI_HEADERS)
	@mkdir -p $(BUILD)/abi
	$(CC) $(ABI_FLAGS) -r -nostdlib $(ABI_SHARED) -o $@

# What a program does that was written for a file. Its parts in Swift and Python belong to test-swift and test-python.
# Not of them: what looks into files, and what takes a server minutes.
POSTGRESQL_TESTS := $(addprefix test_,transaction scopes isolation repository repositories queries indexes validators \
    updates upgrades transfer tree_commits submitted_trees streams stream_ends operations queue receipts retries \
    controller events answers cache cache_policies close cursors fork key_values operation_runs threads aggregate \
    aggregate_runs arguments awaiting body_errors controller_requests futures handles library_threads live_queries \
    maintenance open_scopes payload_errors query_options quoting store text_index)
CLUSTER := Tests/HoldfastPostgreSQLTests/cluster.sh

test-postgresql: library $(addprefix $(BUILD)/abi/,$(POSTGRESQL_TESTS)) ## The C contract, on a server
	@folder=$$(mktemp --directory /tmp/holdfast-postgresql-XXXXXX); failed=; \
	url=$$($(CLUSTER) start $$folder) || { $(CLUSTER) stop $$folder; exit 1; }; \
	for test in $(POSTGRESQL_TESTS); do \
	    HOLDFAST_TEST_SERVER=$$url timeout 900 $(BUILD)/abi/$$test || failed="$$failed $$test"; \
	done; \
	$(CLUSTER) stop $$folder; \
	if [ -n "$$failed" ]; then echo "FAILED:$$failed" >&2; exit 1; fi

# In processes of its own: a server that says nothing is given up sooner than a program would.
CUT_SERVER := PYTHONPATH=bindings/python HOLDFAST_LIMITS=serverReply=1000000000,foreignLock=5000000000 $(VENV)/bin/python
REPLICA_PACKAGES := etcd-server haproxy patroni python3-etcd

torture-postgresql: library $(VENV)/tools ## A thousand cuts of connections to a server, failovers in 10,000 commits, drawn orders
	@$(MAKE) --no-print-directory dependencies PACKAGES="$(PACKAGES) $(REPLICA_PACKAGES)"
	$(CUT_SERVER) bindings/python/tests/cuts.py 1000
	$(CUT_SERVER) bindings/python/tests/failover.py 10000
	$(CUT_SERVER) bindings/python/tests/failover.py --asynchronous 4000
	$(CUT_SERVER) bindings/python/tests/lost_commits.py
	PYTHONPATH=bindings/python HOLDFAST_LIMITS=turnInterval=20000000000 $(VENV)/bin/python \
	    bindings/python/tests/scheduled.py 500

test-symbols: library ## What the library exports, needs and weighs
	Tests/Symbols/check.sh $(LIBRARY) $(SONAME)

test-install: library ## Installs, uses and uninstalls it, in folders with spaces in their names
	Tests/Install/check.sh "$(BUILD)/install test"

# So many tests at once: of all beside each other each takes as long as all of them do, and nothing comes in its time.
SWIFT_TESTS_AT_ONCE := --experimental-maximum-parallelization-width 4

test-swift: ## The core and the Swift API
	swift test $(SWIFT_TESTS_AT_ONCE)

documentation: ## Builds the Swift documentation, with every warning an error
	swift build --target HoldfastTestSupport
	Tests/Documentation/build.sh

# A build of its own, because every object differs. Of the Swift API's tests some have a time to keep, which the sanitizer
# stretches: those are for the long form, which runs one test at a time. Of the short one, what the other tests need is not
# even built.
THREAD_SANITIZER := --sanitize=thread --scratch-path $(BUILD)/thread-sanitizer

test-thread-sanitizer: ## Real threads on both engines under the thread sanitizer
	HOLDFAST_TESTS='StressTests HoldfastSQLiteTests' \
	    swift test $(THREAD_SANITIZER) $(SWIFT_TESTS_AT_ONCE) --test-product holdfastPackageTests

thread-sanitizer: ## The tests of the core and the Swift API under the thread sanitizer
	swift test $(THREAD_SANITIZER) --no-parallel --filter 'StressTests|Holdfast[A-Za-z]*Tests'

test-package: ## The documents' Swift programs, in a package that requires this one by version
	Tests/Packages/run.sh

test-python: library $(VENV)/tools ## The Python package
	$(VENV)/bin/python -m pytest -q bindings/python/tests Tests/Documents

# Sphinx runs the package, to read its docstrings.
site: library $(VENV)/site ## Builds the documentation's site, .build/site/index.html, with every warning an error
	$(VENV)/bin/python -m sphinx --quiet --fail-on-warning --keep-going --jobs 2 --doctree-dir $(BUILD)/site-trees docs $(BUILD)/site

test-site: site documentation ## The site with Swift's reference: its links, and what a browser shows of it
	$(VENV)/bin/python -m pytest -q Tests/Site

test-swift-provider: $(VENV)/tools ## The conformance suite of engines, on a provider in Swift
	swift build --product SwiftProvider
	HOLDFAST_LIBRARY=$(BUILD)/debug/libSwiftProvider.so $(VENV)/bin/python -m pytest -q \
	    bindings/python/tests/conformance -k Swift

soak-python: library $(VENV)/tools ## A million operations from Python: memory and handles stay flat
	PYTHONPATH=bindings/python $(VENV)/bin/python bindings/python/tests/soak.py 1000000

aggregation-memory: library $(VENV)/tools ## Pipelines over a million entities: the most memory that each takes
	HOLDFAST_AGGREGATED=1000000 PYTHONPATH=bindings/python $(VENV)/bin/python -m pytest -q -s -p no:cacheprovider \
	    --timeout 3600 bindings/python/tests/test_aggregation_memory.py

include bindings/abi/abi.mk
include packaging/packaging.mk
include Tests/Torture/torture.mk
include Tests/DrawnLimits/drawn_limits.mk
include Tests/Simulator/simulator.mk
include Tests/Fuzz/fuzz.mk
include Tests/Growth/growth.mk
include Tests/Benchmarks/benchmarks.mk
include Tests/Races/races.mk
include Tests/Others/others.mk
include Tests/Mutants/mutants.mk
include bindings/hosts.mk

# Ranges, so that a new major version of a tool changes nothing by itself.
$(VENV)/tools: Makefile
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet 'pytest>=8,<9' 'pytest-timeout>=2.3,<3' 'hypothesis>=6.100,<7' \
	    'montydb>=2.5.6,<3' 'ruff>=0.14,<0.15' 'mongomock>=4.3,<5' \
	    'uvloop>=0.21,<1' 'pydantic>=2.5,<3' 'attrs>=23.1' 'msgspec>=0.18,<1' 'jsonschema>=4,<5' 'mypy>=2.4,<3' \
	    'pyright[nodejs]>=1.1.414,<2' \
	    'click>=8.1,<9' 'rich>=13,<16' 'prompt_toolkit>=3,<4' 'pexpect>=4.9,<5' 'pydux>=0.2.2,<0.3' 'selenium>=4.25,<5' \
	    'transaction>=4,<6' 'tqdm>=4.60,<5' 'libclang>=16,<19' 'axe-core-python>=0.1,<0.2' \
	    'fastapi>=0.110,<1' 'httpx>=0.27,<1' 'pandas>=2.2,<4' 'tinydb>=4.8,<5' 'ZODB>=6,<7'
	@touch $@

$(VENV)/site: $(VENV)/tools
	$(VENV)/bin/pip install --quiet 'sphinx>=8,<10' 'myst-parser>=4,<6' 'furo>=2024.8' 'sphinx-design>=0.6,<1'
	@touch $@

# --- Style ------------------------------------------------------------------------------------------

lint: dependencies $(VENV)/tools ## Checks formatting and the rules that a machine can check
	swift format lint --strict --recursive Sources Tests Package.swift
	clang-format --dry-run --Werror $(C_FILES)
	$(VENV)/bin/ruff check bindings/abi bindings/python docs packaging Tests
	$(VENV)/bin/ruff format --check bindings/abi bindings/python docs packaging Tests
	$(ABI) --check
	Tests/Style/check.sh

format: dependencies $(VENV)/tools ## Rewrites the sources as lint wants them
	swift format --in-place --recursive Sources Tests Package.swift
	clang-format -i $(C_FILES)
	$(VENV)/bin/ruff format bindings/abi bindings/python docs packaging Tests

clean: ## Removes everything built
	rm -rf $(BUILD) bindings/python/build bindings/python/*.egg-info
