import HoldfastFamiliar
import Testing

@Suite("A key-value repository")
struct KeyValueTests {
    @Test("gets, saves, updates and deletes values by key, the same on every engine", arguments: Engine.allCases)
    func calls(_ engine: Engine) async throws {
        try await withStore(engine) { store in
            let colours = KeyValueRepository(store, of: [Int].self, named: "colours")
            func work(_ values: some KeyValueStore<[Int]>) throws {
                #expect(try values.get("red") == nil)
                #expect(try values["red"] == nil)
                try values.save([255, 0, 0], forKey: "red")
                try values.save([200, 0, 0], forKey: "red")
                #expect(try values["red"] == [200, 0, 0])
                try values.update([250, 0, 0], forKey: "red")
                #expect(try values.get("red") == [250, 0, 0])
                try values.delete("red")
                for missing in [{ try values.delete("red") }, { try values.update([], forKey: "red") }] {
                    do {
                        try missing()
                        Issue.record("a missing key was found")
                    } catch RepositoryError.nonExistingData {}
                }
            }
            try work(colours)
        }
    }

    @Test("deletes what is set to nil, and joins transactions")
    func setting() async throws {
        try await withStore(.memory) { store in
            let flags = KeyValueRepository(store, of: Bool.self, named: "flags")
            try flags.set(true, forKey: "a")
            try flags.set(nil, forKey: "a")
            try flags.set(nil, forKey: "a")
            await #expect(throws: Refusal()) {
                try await store.transaction {
                    try flags.set(true, forKey: "b")
                    let value = try flags["b"]
                    #expect(value == true)
                    throw Refusal()
                }
            }
            let count = try await flags.entries.count()
            #expect(count == 0)
        }
    }
}
