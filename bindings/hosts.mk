# Holdfast for C++, Rust, Go and Node, each a package in a folder beside this file: built with what Debian has, and
# tested against the library of this tree.

HOSTS := $(BUILD)/hosts
HOST_PACKAGES := cargo g++ golang-go iso-codes libjansson-dev librust-serde-derive-dev librust-serde-json-dev node-typescript \
    nodejs pkg-config rustc rustfmt sqlite3
HOST_PARTS := test-cpp test-rust test-go test-node

.PHONY: test-hosts host-dependencies host-lint $(HOST_PARTS)

test-hosts: library host-dependencies host-lint ## The packages for C++, Rust, Go and Node, and that their examples come to C's totals
	@failed=; for part in $(HOST_PARTS); do \
	    echo "--- $$part"; $(MAKE) --no-print-directory $$part || failed="$$failed $$part"; \
	done; \
	[ -z "$$failed" ] || { echo "error: FAILED:$$failed" >&2; exit 1; }

# Node of other origin than Debian comes with its headers, which libnode-dev would overwrite.
host-dependencies:
	@$(MAKE) --no-print-directory dependencies PACKAGES='$(HOST_PACKAGES)'
	@[ -e /usr/include/node/node_api.h ] || $(MAKE) --no-print-directory dependencies PACKAGES=libnode-dev

host-lint:
	clang-format --dry-run --Werror $(shell find bindings/cpp -name '*.[ch]pp')
	cd bindings/rust && $(CARGO) fmt --check
	@unformatted=$$(gofmt -l bindings/go); [ -z "$$unformatted" ] || { echo "error: gofmt would change $$unformatted"; exit 1; }

# The program in a language's README.
readme = awk '/^```$(1)/ { inside = 1; next } /^```/ { inside = 0 } inside' bindings/$(2)/README.md

# What an example in another language has to print, too: C's.
$(HOSTS)/c.totals: bindings/c/examples/iso_registers.c bindings/totals.sh $(HEADERS)
	@mkdir -p $(HOSTS)
	$(CC) -O1 -Iinclude $< -o $(HOSTS)/c-iso $(LINKED) -ljansson -pthread
	bindings/totals.sh $(HOSTS) c $(HOSTS)/c-iso

# --- C++ --------------------------------------------------------------------------------------------

CPP_FLAGS := -std=c++17 -g $(C_WARNINGS) -Wshadow -Wconversion -Iinclude -Ibindings/cpp
CPP_HEADER := bindings/cpp/holdfast.hpp $(HEADERS)

test-cpp: $(HOSTS)/cpp-entities $(HOSTS)/cpp-lifetimes $(HOSTS)/cpp-iso $(HOSTS)/c.totals
	timeout 300 $(HOSTS)/cpp-entities
	timeout 300 $(HOSTS)/cpp-lifetimes
	bindings/cpp/tests/misuse.sh $(CXX) $(CPP_FLAGS)
	$(call readme,cpp,cpp) | $(CXX) $(CPP_FLAGS) -fsyntax-only -x c++ -
	bindings/totals.sh $(HOSTS) cpp $(HOSTS)/cpp-iso

$(HOSTS)/cpp-%: bindings/cpp/tests/%.cpp bindings/cpp/tests/checks.hpp $(CPP_HEADER)
	@mkdir -p $(HOSTS)
	$(CXX) $(CPP_FLAGS) -fsanitize=address,undefined -fno-sanitize-recover=all $< -o $@ $(LINKED) -pthread

$(HOSTS)/cpp-iso: bindings/cpp/examples/iso_registers.cpp $(CPP_HEADER)
	@mkdir -p $(HOSTS)
	$(CXX) $(CPP_FLAGS) -O1 $< -o $@ $(LINKED) -ljansson -pthread

# --- Rust -------------------------------------------------------------------------------------------

# Debian's, whatever else is installed, and what it has of crates.io. Nothing is asked of the network.
RUST := $(HOSTS)/rust
CARGO = PATH=/usr/bin:$$PATH CARGO_HOME=$(HOSTS)/cargo CARGO_TARGET_DIR=$(RUST) LD_LIBRARY_PATH=$(LIBRARY_DIRECTORY) \
    HOLDFAST_LIBRARY_DIRECTORY=$(LIBRARY_DIRECTORY) RUSTFLAGS='-D warnings' cargo

test-rust: $(HOSTS)/cargo/config.toml $(HOSTS)/c.totals
	cd bindings/rust && $(CARGO) build --quiet --offline --features holdfast/serde && \
	    $(CARGO) test --quiet --offline --features holdfast/serde
	bindings/rust/holdfast/tests/misuse.sh /usr/bin/rustc $(RUST)/debug
	LD_LIBRARY_PATH=$(LIBRARY_DIRECTORY) bindings/totals.sh $(HOSTS) rust $(RUST)/debug/examples/iso_registers

$(HOSTS)/cargo/config.toml: bindings/hosts.mk
	@mkdir -p $(@D)
	printf '[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "/usr/share/cargo/registry"\n' > $@

# --- Go ---------------------------------------------------------------------------------------------

GO = PATH=/usr/bin:$$PATH GOPROXY=off GOTOOLCHAIN=local GOCACHE=$(HOSTS)/go LD_LIBRARY_PATH=$(LIBRARY_DIRECTORY) \
    PKG_CONFIG_PATH=$(HOSTS)/pkgconfig GODEBUG=cgocheck=2 go

test-go: $(HOSTS)/pkgconfig/holdfast.pc $(HOSTS)/c.totals
	cd bindings/go && $(GO) vet ./... && $(GO) test -count=1 -race -timeout 300s ./... && \
	    $(GO) build -o $(HOSTS)/go-iso ./examples/iso_registers
	@mkdir -p $(HOSTS)/go-readme && $(call readme,go,go) > $(HOSTS)/go-readme/music.go
	cd $(HOSTS)/go-readme && printf 'module music\n\nrequire holdfast v0.1.0\n\nreplace holdfast => %s\n' \
	    $(CURDIR)/bindings/go > go.mod && $(GO) vet .
	LD_LIBRARY_PATH=$(LIBRARY_DIRECTORY) bindings/totals.sh $(HOSTS) go $(HOSTS)/go-iso

# This tree as if it were installed.
$(HOSTS)/pkgconfig/holdfast.pc: bindings/c/holdfast.pc.in bindings/hosts.mk
	@mkdir -p $(@D)
	sed -e 's|@PREFIX@|$(CURDIR)|' -e 's|@LIBDIR@|$(LIBRARY_DIRECTORY)|' -e 's|@VERSION@|$(VERSION)|' $< > $@

# --- Node -------------------------------------------------------------------------------------------

test-node: $(HOSTS)/pkgconfig/holdfast.pc $(HOSTS)/c.totals
	PKG_CONFIG_PATH=$(HOSTS)/pkgconfig bindings/node/build.sh
	timeout 300 node --expose-gc --test bindings/node/tests/holdfast.test.js
	tsc --noEmit --strict --target es2022 --module commonjs --moduleResolution node bindings/node/tests/types.ts
	bindings/totals.sh $(HOSTS) node node bindings/node/examples/iso_registers.js
