# The benchmark, to be included by the top Makefile, which says where the library is:
#
#     bench              everything, on a machine that does nothing else
#     test-benchmarks    in small, that it works

BENCH_BUILD := $(BUILD)/benchmarks
BENCH_PACKAGES := liblmdb-dev libpq-dev librocksdb-dev strace
BENCH_FLAGS := -std=c99 -O2 $(C_TEST_FLAGS)
BENCH_SHARED := $(addprefix Tests/Benchmarks/,documents.c measure.c documents.h engine.h measure.h)

BENCH_ENGINES := $(addprefix $(BENCH_BUILD)/,holdfast sqlite lmdb rocksdb postgresql)
BENCH_FIRST_READS := $(addprefix $(BENCH_BUILD)/first_read_,holdfast sqlite)
BENCH_YCSB := $(addprefix $(BENCH_BUILD)/ycsb_,holdfast sqlite lmdb rocksdb)
BENCH_OPEN_LOADS := $(addprefix $(BENCH_BUILD)/open_load_,holdfast sqlite rocksdb)
BENCH_OTHERS := $(addprefix $(BENCH_BUILD)/,asynchronous maintenance floors load_library streams trees)
BENCH_PROGRAMS := $(BENCH_ENGINES) $(BENCH_FIRST_READS) $(BENCH_YCSB) $(BENCH_OPEN_LOADS) $(BENCH_OTHERS)

BENCH_LIBRARIES_holdfast := $(LINKED)
BENCH_LIBRARIES_asynchronous := $(BENCH_LIBRARIES_holdfast)
BENCH_LIBRARIES_maintenance := $(BENCH_LIBRARIES_holdfast)
BENCH_LIBRARIES_streams := $(BENCH_LIBRARIES_holdfast)
BENCH_LIBRARIES_trees := $(BENCH_LIBRARIES_holdfast)
BENCH_LIBRARIES_sqlite := -lsqlite3
BENCH_LIBRARIES_lmdb := -llmdb
BENCH_LIBRARIES_postgresql := -lpq
BENCH_LIBRARIES_rocksdb := -lrocksdb
BENCH_LIBRARIES_floors := -ljansson

# Where Debian has the headers of libpq.
BENCH_INCLUDES_postgresql := -I/usr/include/postgresql

BENCH_COMPILE = $(CC) $(BENCH_FLAGS) $(BENCH_INCLUDES_$*) $(filter %.c,$^) -o $@ $(BENCH_LIBRARIES_$*) -pthread -lm

$(BENCH_PROGRAMS): $(BENCH_SHARED) | $(BENCH_BUILD)

$(BENCH_BUILD):
	@mkdir -p $@

$(BENCH_ENGINES): $(BENCH_BUILD)/%: Tests/Benchmarks/%.c Tests/Benchmarks/workloads.c
	$(BENCH_COMPILE)

$(BENCH_FIRST_READS): $(BENCH_BUILD)/first_read_%: Tests/Benchmarks/%.c Tests/Benchmarks/first_read.c
	$(BENCH_COMPILE)

$(BENCH_YCSB): $(BENCH_BUILD)/ycsb_%: Tests/Benchmarks/%.c Tests/Benchmarks/ycsb.c Tests/Benchmarks/zipfian.c \
    Tests/Benchmarks/zipfian.h
	$(BENCH_COMPILE)

$(BENCH_OPEN_LOADS): $(BENCH_BUILD)/open_load_%: Tests/Benchmarks/%.c Tests/Benchmarks/open_load.c
	$(BENCH_COMPILE)

$(BENCH_OTHERS): $(BENCH_BUILD)/%: Tests/Benchmarks/%.c
	$(BENCH_COMPILE)

$(BENCH_BUILD)/holdfast $(BENCH_BUILD)/first_read_holdfast $(BENCH_BUILD)/ycsb_holdfast $(BENCH_BUILD)/open_load_holdfast $(BENCH_BUILD)/asynchronous $(BENCH_BUILD)/maintenance $(BENCH_BUILD)/trees: include/holdfast.h $(HEADERS)

$(BENCH_BUILD)/documents.ndjson: Tests/Benchmarks/make_documents.py
	$(PYTHON) $< $@

.PHONY: bench bench-dependencies bench-programs bench-swift test-benchmarks

# By themselves, because the other targets do without these packages.
bench-dependencies:
	@$(MAKE) --no-print-directory dependencies PACKAGES="$(PACKAGES) $(BENCH_PACKAGES)"

$(VENV)/lmdb: $(VENV)/tools
	$(VENV)/bin/pip install --quiet 'lmdb>=1.4,<2'
	@touch $@

bench-programs: bench-dependencies library $(BENCH_PROGRAMS) $(BENCH_BUILD)/documents.ndjson $(VENV)/lmdb

# A package of its own, the only one that names GRDB.
bench-swift: | $(BENCH_BUILD)
	swift build -c release --package-path Tests/Benchmarks/Swift --scratch-path $(BUILD)/benchmarks-swift
	@ln -sf $(BUILD)/benchmarks-swift/release/SwiftEngines $(BENCH_BUILD)/swift_engines

ROUNDS ?= 5

# To build GRDB takes minutes.
bench: bench-programs $(if $(LINES),$(if $(filter swift-%,$(LINES)),bench-swift),bench-swift)
bench: ## Measures all, or LINES="async-commits …" or "pg-*", in ROUNDS=5, into .build/bench.json
	$(VENV)/bin/python Tests/Benchmarks/bench.py $(BENCH_BUILD) $(BENCH_BUILD)/documents.ndjson $(LIBRARY) \
	    $(BUILD)/bench.json --rounds $(ROUNDS) --lines $(foreach line,$(LINES),'$(line)')

test-benchmarks: bench-programs ## The benchmark, in small
	$(VENV)/bin/python -m pytest -q Tests/Benchmarks
