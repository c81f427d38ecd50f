# Forks and threads that get in each other's way, to be included by the top Makefile, which says where the library
# is:
#
#     test-races    samples, for every test run
#     races         as long as it takes

RACES_BUILD := $(BUILD)/races

$(RACES_BUILD)/forks: Tests/Races/forks.c Tests/ABI/every_function.c Tests/ABI/every_function.h $(HEADERS)
	@mkdir -p $(RACES_BUILD)
	$(CC) -std=c99 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -Iinclude $(filter %.c,$^) -o $@ \
	    -L$(LIBRARY_DIRECTORY) -lholdfast -Wl,-rpath,$(LIBRARY_DIRECTORY) -lsqlite3 -pthread

.PHONY: test-races races

test-races: library $(RACES_BUILD)/forks ## Forks beside busy threads, a sample
	$(RACES_BUILD)/forks 100

races: library $(RACES_BUILD)/forks ## Forks beside busy threads, thousands
	$(RACES_BUILD)/forks 5000
