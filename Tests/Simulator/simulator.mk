# Processes on simulated files, to be included by the top Makefile, which says where the library is:
#
#     test-simulator    a sample, for every test run: other seeds each time, which are printed
#     simulator         for an hour or so

SIMULATOR := $(BUILD)/simulator/simulator
SIMULATOR_SOURCES := $(wildcard Tests/Simulator/*.c)

# With the C library's functions in front of the system's, which must be seen by the libraries that it loads.
$(SIMULATOR): $(SIMULATOR_SOURCES) $(wildcard Tests/Simulator/*.h) include/holdfast.h $(HEADERS)
	@mkdir -p $(dir $@)
	$(CC) -std=c11 -O2 $(C_TEST_FLAGS) -rdynamic $(SIMULATOR_SOURCES) -o $@ $(LINKED) -pthread -ldl

.PHONY: test-simulator simulator

test-simulator: library $(SIMULATOR) ## Processes that share a store on simulated files, killed and cut off, a sample
	$(SIMULATOR) 20
	$(SIMULATOR) --replays 3
	$(SIMULATOR) --weak 1 3

simulator: library $(SIMULATOR) ## The same, 5,000 seeds
	$(SIMULATOR) 5000
	$(SIMULATOR) --replays 100
	$(SIMULATOR) --weak
