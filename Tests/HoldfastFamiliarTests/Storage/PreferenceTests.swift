import Foundation
import HoldfastFamiliar
import Testing

private struct Window: Codable, Sendable, Equatable {
    var width: Int
    var height: Int
}

extension Preference where Value == Double {
    fileprivate static var volume: Self { Self("volume", default: 0.5) }
}
extension Preference where Value == Window {
    fileprivate static var window: Self { Self("window", default: Window(width: 800, height: 600)) }
}
extension Preference where Value == String? {
    fileprivate static var editor: Self { Self("editor", default: "vi") }
}

@Suite("Preferences")
struct PreferenceTests {
    @Test("have their default until a value is stored, and again when it is deleted", arguments: Engine.allCases)
    func defaults(engine: Engine) async throws {
        try await withStore(engine) { store in
            let settings = PreferenceStorage(store, named: "settings")
            try await #expect(settings.get(.volume) == 0.5)
            try await settings.set(.volume, to: 0.75)
            try await settings.set(.window, to: Window(width: 1, height: 2))
            try await #expect(settings.get(.volume) == 0.75)
            try await #expect(settings.get(.window) == Window(width: 1, height: 2))
            try await settings.delete(.volume)
            try await settings.delete(.volume)
            try await #expect(settings.get(.volume) == 0.5)
            try await #expect(settings.get(.window) == Window(width: 1, height: 2))
        }
    }

    @Test("that were set to nothing have nothing, and not their default")
    func nothing() async throws {
        try await withStore(.memory) { store in
            let settings = PreferenceStorage(store)
            try await #expect(settings.get(.editor) == "vi")
            try await settings.set(.editor, to: nil)
            try await #expect(settings.get(.editor) == nil)
        }
    }

    @Test("that cannot be read are an error, and never the default", arguments: Engine.allCases)
    func unreadable(engine: Engine) async throws {
        try await withStore(engine) { store in
            let settings = PreferenceStorage(store, named: "settings")
            try await settings.set(Preference("volume", default: ""), to: "loud")
            try await settings.set(.window, to: Window(width: 1, height: 2))
            let error = await expectError(.corrupt) { _ = try await settings.get(.volume) }
            #expect(error?.detail.json == #"{"repository":"settings","id":"volume","type":"KeyValueEntry<Double>"}"#)
            try await #expect(settings.get(.window).width == 1)
        }
    }

    @Test("are stored in the shape that all languages share, and read in it")
    func shape() async throws {
        try await withStore(.memory) { store in
            let settings = PreferenceStorage(store, named: "settings")
            try await settings.set(.volume, to: 0.25)
            try await settings.set(.editor, to: nil)
            let stored = store.repository(of: KeyValueEntry<Double?>.self, named: "settings")
            let json = try await stored.findJSON()
            #expect(
                String(decoding: json, as: UTF8.self)
                    == #"[{"id":"editor","value":null},{"id":"volume","value":0.25}]"#)
        }
    }

    @Test("join the transaction that they are set in")
    func joining() async throws {
        try await withStore(.memory) { store in
            let settings = PreferenceStorage(store)
            await #expect(throws: Refusal.self) {
                try await store.transaction {
                    try await settings.set(.volume, to: 1)
                    try await #expect(settings.get(.volume) == 1)
                    throw Refusal()
                }
            }
            try await #expect(settings.get(.volume) == 0.5)
        }
    }

    @Test("of names where one begins with the other are separate", arguments: Engine.allCases)
    func prefixes(engine: Engine) async throws {
        try await withStore(engine) { store in
            let short = PreferenceStorage(store, named: "App")
            let long = PreferenceStorage(store, named: "App2")
            try await short.set(.volume, to: 1)
            try await #expect(long.get(.volume) == 0.5)
            try await long.delete(.volume)
            try await #expect(short.get(.volume) == 1)
        }
    }
}
