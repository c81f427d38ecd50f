# The contract with limits of the library that are drawn from a seed, to be included by the top Makefile:
#
#     test-drawn-limits    once, what is quick
#     drawn-limits         DRAWS times, all of it
#
# Each program gets a draw of its own, which is printed where it fails; HOLDFAST_SEED and HOLDFAST_LIMITS run it with the same
# again. What tests a limit sets that itself.

DRAWS ?= 20
# With small limits syncs are many: where the system has a place in memory, the files lie there.
DRAWN_PLACE := $(firstword $(wildcard /dev/shm) /tmp)
DRAWN_CONTRACT := env HOLDFAST_TEST_PLACE=$(DRAWN_PLACE) TMPDIR=$(DRAWN_PLACE) $(DRAWN)

# Left as they are shipped where it must be quick and pass with every seed: what takes snapshots back, which a transaction may
# notice; what makes a conflict of changes beside those that it read, and how long its next run waits for its turn; how soon a
# stream is behind, and into how many events a burst is told; how many entities a cursor gives at once, and an import commits;
# how often a provider is asked; and how many ids and alternatives of a filter are looked up. The long form draws them too, but for the tests that know what these give.
LEFT := checkpointBytes,checkpointIdle,checkpointRetry,checkpointShortRetry,checkpointLongRetry
LEFT := $(LEFT),matchedIDs,checkedChanges,longestRetry,observerChanges,observerBytes,followerBytes,liveQueryEvents
LEFT := $(LEFT),pieceBytes,importEntities,importBytes,providerListings,planRanges

# What a test knows of the limits as they are shipped is left to it there too: DRAWN_EXCEPT_<test>.
# When the log is copied and begun anew:
DRAWN_EXCEPT_test_durability := checkpointBytes,checkpointIdle,checkpointRetry,checkpointShortRetry,checkpointLongRetry
# What becomes a conflict of changes beside those that were read:
DRAWN_EXCEPT_test_isolation := matchedIDs,checkedChanges
DRAWN_EXCEPT_test_cursors := matchedIDs,checkedChanges
# In how few attempts many get through who stand in line after a conflict:
DRAWN_EXCEPT_test_retries := longestRetry,matchedIDs,checkedChanges
# How soon a stream is behind, after which it is told less, and into how many events a burst is told:
DRAWN_EXCEPT_test_streams := observerChanges,observerBytes,followerBytes
DRAWN_EXCEPT_test_stream_ends := observerChanges,observerBytes,followerBytes
DRAWN_EXCEPT_test_live_queries := observerChanges,observerBytes,followerBytes,liveQueryEvents
# How many entities a cursor gives at once, and how often a provider is asked:
DRAWN_EXCEPT_test_damage := pieceBytes
DRAWN_EXCEPT_test_provider_calls := providerListings
# In how many pieces an index is built:
DRAWN_EXCEPT_test_index_building := indexRunBytes,indexPieceEntries,indexPieceBytes
# What of an import stays when it fails, and again those conflicts:
DRAWN_EXCEPT_python := matchedIDs,checkedChanges,importEntities,importBytes
# How many ids and alternatives are looked up, which `explain` tells:
DRAWN_EXCEPT_python := $(DRAWN_EXCEPT_python),planRanges
# The suites in Swift were not yet held against more than the quick form draws:
DRAWN_EXCEPT_swift := $(LEFT)

# What transactions, reads, writes and files must be, without waiting for much.
QUICK_ABI_TESTS := test_answers test_arguments test_close test_durability test_files test_fork test_indexes test_isolation \
    test_open_scopes test_operations test_participants test_queries test_query_options test_repository test_scopes \
    test_submitted_trees test_transaction test_transfer test_tree_commits test_updates test_upgrades test_validators
# These set all their limits themselves, count what the limits as they are shipped cost, or use up the memory.
UNDRAWN_ABI_TESTS := test_limits test_failed_syncs test_memory
DRAWN_ABI_TESTS = $(filter-out $(UNDRAWN_ABI_TESTS),$(ABI_TESTS))

CONFORMANCE := --python $(VENV)/bin/python -m pytest -q bindings/python/tests/conformance
DRAWN_PYTHON = $(DRAWN_CONTRACT) --except=$(DRAWN_EXCEPT_python) $(CONFORMANCE)
DRAWN_SWIFT = $(DRAWN_CONTRACT) --except=$(DRAWN_EXCEPT_swift) swift test --filter conforms

# Runs a command, and shows what it printed if it fails.
RUN_DRAWN = { $(1) > $(BUILD)/drawn-limits.txt 2>&1 || { cat $(BUILD)/drawn-limits.txt; failed="$$failed $(2)"; }; }
# The tests, and what is left as it is besides.
DRAWN_ABI_TEST = $(DRAWN_CONTRACT) --except=$(DRAWN_EXCEPT_$(1)),$(2) timeout 600 $(BUILD)/abi/$(1)
RUN_DRAWN_ABI = $(foreach test,$(1),$(call RUN_DRAWN,$(call DRAWN_ABI_TEST,$(test),$(2)),$(test));)

.PHONY: test-drawn-limits drawn-limits

test-drawn-limits: library $(addprefix $(BUILD)/abi/,$(QUICK_ABI_TESTS)) $(VENV)/tools ## The contract with drawn limits, once
	@failed=; \
	$(call RUN_DRAWN_ABI,$(QUICK_ABI_TESTS),$(LEFT)) \
	$(call RUN_DRAWN,$(DRAWN_CONTRACT) --except=$(LEFT) $(CONFORMANCE) -k "not provider and not ten_thousand",python); \
	if [ -n "$$failed" ]; then echo "FAILED:$$failed" >&2; exit 1; fi

drawn-limits: library $(addprefix $(BUILD)/abi/,$(DRAWN_ABI_TESTS)) $(VENV)/tools ## The contract with drawn limits, for long
	@failed=; \
	for draw in $$(seq $(DRAWS)); do \
	    $(call RUN_DRAWN_ABI,$(DRAWN_ABI_TESTS)) \
	    $(call RUN_DRAWN,$(DRAWN_PYTHON),python); \
	    $(call RUN_DRAWN,$(DRAWN_SWIFT),swift); \
	done; \
	if [ -n "$$failed" ]; then echo "FAILED:$$failed" >&2; exit 1; fi
