# The crash proofs, to be included by the top Makefile, which says where the library is:
#
#     test-torture-short    samples, for every test run
#     torture               everything, for a night

TORTURE_BUILD := $(BUILD)/torture
TORTURE_SHARED := Tests/Torture/oracle.c Tests/Torture/ledger.c Tests/Torture/recording_vfs.c
TORTURE_PROGRAMS := $(addprefix $(TORTURE_BUILD)/,replay kill faults processes sharing neighbours slow_sync displaced \
    meanwhile corruption maintenance followers rolled_back hosts calls second)

$(TORTURE_BUILD)/%: Tests/Torture/%.c $(TORTURE_SHARED) Tests/Torture/oracle.h Tests/Torture/ledger.h Tests/Torture/recording_vfs.h
	@mkdir -p $(TORTURE_BUILD)
	$(CC) -std=c99 -O2 $(C_TEST_FLAGS) $< $(TORTURE_SHARED) -o $@ $(LINKED) -lsqlite3 -ljansson -pthread

# With the C library's functions in front of the system's, which must be seen by the libraries that it loads.
CALLS := $(addprefix Tests/Torture/,calls.c operations.c failing_calls.c oracle.c)
$(TORTURE_BUILD)/calls: $(CALLS) $(addprefix Tests/Torture/,operations.h failing_calls.h oracle.h)
	@mkdir -p $(TORTURE_BUILD)
	$(CC) -std=c99 -O2 $(C_TEST_FLAGS) -rdynamic $(CALLS) -o $@ $(LINKED) -pthread -ldl

# With limits of the library that are drawn from a seed, which is printed with them. A program that relies on some sets those
# itself (pin_limits). The others count what the limits as they are shipped give, or set all of their own.
DRAWN := Tests/Torture/drawn.sh

SECOND := $(addprefix Tests/Torture/,second.c failing_calls.c oracle.c)
$(TORTURE_BUILD)/second: $(SECOND) $(addprefix Tests/Torture/,failing_calls.h oracle.h)
	@mkdir -p $(TORTURE_BUILD)
	$(CC) -std=c99 -O2 $(C_TEST_FLAGS) -rdynamic $(SECOND) -o $@ $(LINKED) -pthread -ldl

.PHONY: test-torture-short torture

# Drawn here where enough seeds have passed. What a file that is cut short has lost can be told, and by whom, as long as the log
# is not just copied into it: so when that is done is left to `displaced` as it is shipped. `meanwhile` does it in that instant.
COPIED := checkpointBytes,checkpointIdle,checkpointRetry,checkpointShortRetry,checkpointLongRetry

test-torture-short: library $(TORTURE_PROGRAMS) ## Power cuts, kills and I/O faults, a sample
	$(TORTURE_BUILD)/replay
	$(DRAWN) $(TORTURE_BUILD)/kill 100
	$(DRAWN) $(TORTURE_BUILD)/faults
	$(DRAWN) $(TORTURE_BUILD)/processes
	$(DRAWN) $(TORTURE_BUILD)/sharing
	$(TORTURE_BUILD)/neighbours
	$(TORTURE_BUILD)/slow_sync
	$(DRAWN) --except=$(COPIED) $(TORTURE_BUILD)/displaced
	$(DRAWN) $(TORTURE_BUILD)/meanwhile
	$(DRAWN) $(TORTURE_BUILD)/corruption
	$(TORTURE_BUILD)/maintenance
	$(DRAWN) $(TORTURE_BUILD)/calls
	$(TORTURE_BUILD)/second
	$(TORTURE_BUILD)/followers
	$(TORTURE_BUILD)/rolled_back
	$(TORTURE_BUILD)/hosts

torture: library $(TORTURE_PROGRAMS) ## Power cuts, kills and I/O faults, all of them
	$(DRAWN) $(TORTURE_BUILD)/replay --every
	$(DRAWN) $(TORTURE_BUILD)/kill 2000
	$(DRAWN) $(TORTURE_BUILD)/faults --every
	$(DRAWN) $(TORTURE_BUILD)/corruption 20
	$(DRAWN) $(TORTURE_BUILD)/maintenance --every
	$(DRAWN) $(TORTURE_BUILD)/calls --every
	$(DRAWN) $(TORTURE_BUILD)/followers 120
