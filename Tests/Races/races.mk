# Forks and threads that get in each other's way, to be included by the top Makefile, which says where the library
# is:
#
#     test-races    samples, for every test run
#     races         as long as it takes
#
# The races are also run under the address and the thread sanitizer, each with a library built under the same one: by
# the fuzzers' build and by that of the thread sanitizer's tests.

RACES_BUILD := $(BUILD)/races
RACES_RACES := races futures
RACES_PROGRAMS := $(addprefix $(RACES_BUILD)/,forks $(foreach race,$(RACES_RACES),$(race) $(race)-address $(race)-thread))
RACES_SHARED := Tests/ABI/every_function.c Tests/ABI/every_function.h $(HEADERS)
RACES_FLAGS := -std=gnu11 -O1 $(C_TEST_FLAGS) -fuse-ld=lld -pthread
RACES_THREAD_LIBRARY := $(BUILD)/thread-sanitizer/debug
# Clang's runtime of the thread sanitizer, as Swift brings it, needs these.
DISPATCH_DIRECTORY = $(abspath $(dir $(FUZZ_CC))../lib/swift/linux)

$(RACES_BUILD)/%-address: Tests/Races/%.c $(RACES_SHARED) | fuzz-library
	@mkdir -p $(RACES_BUILD)
	$(FUZZ_CC) $(RACES_FLAGS) -fsanitize=address,undefined -fno-sanitize-recover=all $(filter %.c,$^) -o $@ $(FUZZ_LINKED)

$(RACES_BUILD)/%-thread: Tests/Races/%.c $(RACES_SHARED) | races-thread-library
	@mkdir -p $(RACES_BUILD)
	$(FUZZ_CC) $(RACES_FLAGS) -fsanitize=thread $(filter %.c,$^) -o $@ \
	    $(call linked_with,$(RACES_THREAD_LIBRARY)) \
	    -L$(DISPATCH_DIRECTORY) -ldispatch -lBlocksRuntime -Wl,-rpath,$(DISPATCH_DIRECTORY)

$(RACES_BUILD)/%: Tests/Races/%.c $(RACES_SHARED)
	@mkdir -p $(RACES_BUILD)
	$(CC) -std=c11 -O2 $(C_TEST_FLAGS) $(filter %.c,$^) -o $@ $(LINKED) -lsqlite3 -pthread

# Each race for so many seconds, three times over.
RUN_RACES = for race in $(RACES_RACES); do \
	    $(RACES_BUILD)/$$race $(1) && $(RACES_BUILD)/$$race-address $(1) && $(RACES_BUILD)/$$race-thread $(1) || exit 1; \
	done

.PHONY: test-races races races-thread-library

races-thread-library:
	swift build --product holdfast --sanitize=thread --scratch-path $(BUILD)/thread-sanitizer

test-races: library $(RACES_PROGRAMS) ## Forks beside busy threads, calls against close and free, a sample
	$(RACES_BUILD)/forks 100
	$(call RUN_RACES,5)

races: library $(RACES_PROGRAMS) ## Forks beside busy threads, calls against close and free, for long
	$(RACES_BUILD)/forks 5000
	$(call RUN_RACES,600)
