# Hostile input, found by libFuzzer, to be included by the top Makefile:
#
#     test-fuzz-short    ten seconds a target, for every test run
#     fuzz               FUZZ_SECONDS a target; what was found to be of interest is kept for the next run
#
# The library is built anew with coverage for the fuzzer and with the address and undefined-behaviour sanitizers, by
# Swift's compiler, whose clang brings their runtimes.

FUZZ_SECONDS ?= 600
FUZZ_BUILD := $(BUILD)/fuzz
FUZZ_TARGETS := payload entries filters updates handles stored provided actions streams
FUZZ_SHARED := Tests/Fuzz/input.c Tests/Fuzz/input.h
FUZZ_CC = $(dir $(shell readlink -f $$(command -v swift)))clang
FUZZ_FLAGS := -std=gnu11 -O1 $(C_TEST_FLAGS) -fuse-ld=lld -fno-sanitize-recover=all \
    -fsanitize=address,undefined

FUZZ_LINKED := $(call linked_with,$(BUILD)/fuzz-library/release)

.PHONY: fuzz-library test-fuzz-short fuzz

fuzz-library:
	swift build -c release --product holdfast --scratch-path $(BUILD)/fuzz-library \
	    -Xswiftc -sanitize=fuzzer,address \
	    -Xcc -fsanitize=fuzzer-no-link,address,undefined -Xcc -fno-sanitize-recover=all

$(FUZZ_BUILD)/payload: Tests/Fuzz/payload.c $(FUZZ_SHARED) $(wildcard Sources/CHoldfastPayload/*.c)
	@mkdir -p $(FUZZ_BUILD)
	$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -ISources/CHoldfastPayload/include $(filter %.c,$^) -o $@ -ljansson

$(FUZZ_BUILD)/filters: Tests/Fuzz/tree_evaluation.c Tests/Fuzz/tree_evaluation.h
$(FUZZ_BUILD)/filters $(FUZZ_BUILD)/updates: Tests/Fuzz/generated_query.c Tests/Fuzz/generated_query.h

$(FUZZ_BUILD)/%: Tests/Fuzz/%.c Tests/Fuzz/outcome.c Tests/Fuzz/outcome.h $(FUZZ_SHARED) $(HEADERS) | fuzz-library
	@mkdir -p $(FUZZ_BUILD)
	$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer $(filter %.c,$^) -o $@ $(FUZZ_LINKED) -ljansson -lsqlite3

# The damaged files of the torture, under the sanitizers.
$(FUZZ_BUILD)/corruption: Tests/Torture/corruption.c Tests/Torture/ledger.c Tests/Torture/ledger.h $(HEADERS) | fuzz-library
	@mkdir -p $(FUZZ_BUILD)
	$(FUZZ_CC) $(FUZZ_FLAGS) $(filter %.c,$^) -o $@ $(FUZZ_LINKED) -lsqlite3

test-fuzz-short: fuzz-library $(addprefix $(FUZZ_BUILD)/,$(FUZZ_TARGETS) corruption) ## Hostile input, ten seconds of each kind
	$(FUZZ_BUILD)/corruption
	printf '%s\n' $(FUZZ_TARGETS) | xargs -P 2 -I TARGET Tests/Fuzz/run.sh $(FUZZ_BUILD) TARGET 10

fuzz: fuzz-library $(addprefix $(FUZZ_BUILD)/,$(FUZZ_TARGETS)) ## Hostile input, FUZZ_SECONDS (600) of each kind
	printf '%s\n' $(FUZZ_TARGETS) | xargs -P 2 -I TARGET Tests/Fuzz/run.sh $(FUZZ_BUILD) TARGET $(FUZZ_SECONDS)
