// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "holdfast",
    platforms: [.macOS(.v15)],
    products: [
        // The C library: what libholdfast.so is made of. The Makefile adds the static Swift
        // runtime and the version script, because a manifest with unsafe flags could not be
        // required by version.
        .library(name: "holdfast", type: .dynamic, targets: ["HoldfastABI"]),
        // The typed Swift face.
        .library(name: "Holdfast", targets: ["Holdfast"]),
        // The names that people know from the libraries for which Holdfast stands, on top of the typed Swift face alone.
        .library(name: "HoldfastFamiliar", targets: ["HoldfastFamiliar"]),
        // Mocks, for the tests of programs that use it.
        .library(name: "HoldfastTestSupport", targets: ["HoldfastTestSupport"]),
    ],
    dependencies: [
        // What publishers are where there is no Combine. Only the Swift face has it.
        .package(url: "https://github.com/OpenCombine/OpenCombine.git", from: "0.14.0")
    ],
    targets: [
        // Contracts and system libraries.
        .systemLibrary(name: "CHoldfast", path: "include"),
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .systemLibrary(
            name: "CPCRE2", pkgConfig: "libpcre2-8",
            providers: [.apt(["libpcre2-dev"]), .brew(["pcre2"])]),

        .systemLibrary(
            name: "CJansson", pkgConfig: "jansson",
            providers: [.apt(["libjansson-dev"]), .brew(["jansson"])]),

        // C below the core: the only code that sees jansson.h, and the few system calls that
        // Swift cannot make.
        .target(name: "CHoldfastPayload", dependencies: ["CJansson"]),
        .target(name: "CHoldfastPlatform"),
        // The words of texts, and the only code that sees libstemmer.h. It has no description for pkg-config. Debian's
        // libstemmer-dev has it as an archive: the stems that indexes hold change with it, so it goes into what is built.
        .target(
            name: "CHoldfastWords", exclude: ["tables.inc", "tables.py"],
            linkerSettings: [
                .linkedLibrary(":libstemmer.a", .when(platforms: [.linux])),
                .linkedLibrary("stemmer", .when(platforms: [.macOS])),
            ]),

        // What the library takes from its process: locks, clocks, threads, limits, memory, and how it tells of failures.
        .target(name: "HoldfastEnvironment", dependencies: ["CHoldfastPayload", "CHoldfastPlatform"]),
        // Functions over bytes: JSON, ids, filters, updates, the order of keys. They know neither stores nor threads.
        .target(
            name: "HoldfastQuery",
            dependencies: [
                "HoldfastEnvironment", "CHoldfastPayload", "CHoldfastPlatform", "CHoldfastWords", "CPCRE2",
            ]),
        // Where entities live: the interface to engines, and the engine in memory.
        .target(
            name: "HoldfastStorage", dependencies: ["HoldfastEnvironment", "HoldfastQuery", "CHoldfastPayload"]),
        .target(
            name: "HoldfastCore",
            dependencies: [
                "HoldfastEnvironment", "HoldfastQuery", "HoldfastStorage", "CHoldfastPlatform",
            ]),
        // What works on stores from above: maintenance, transfer, expiry, controllers, and the host as an engine.
        .target(
            name: "HoldfastServices",
            dependencies: [
                "HoldfastEnvironment", "HoldfastQuery", "HoldfastStorage", "HoldfastCore", "CHoldfastPlatform",
            ]),
        .target(
            name: "HoldfastSQLite",
            dependencies: [
                "HoldfastEnvironment", "HoldfastQuery", "HoldfastStorage", "HoldfastCore", "HoldfastServices",
                "CSQLite",
                "CHoldfastPlatform",
            ]),

        // Its library is loaded when it is first needed, and is no dependency of this package.
        .target(
            name: "HoldfastPostgreSQL",
            dependencies: [
                "HoldfastEnvironment", "HoldfastQuery", "HoldfastStorage", "CHoldfastPlatform",
            ], exclude: ["LAYOUT.md"]),

        // Which engine keeps a store: the only target that names them all, for the two faces.
        .target(
            name: "HoldfastEngines",
            dependencies: [
                "HoldfastEnvironment", "HoldfastStorage", "HoldfastCore", "HoldfastServices", "HoldfastSQLite",
                "HoldfastPostgreSQL",
            ]),

        // The two faces.
        .target(
            name: "HoldfastABI",
            dependencies: [
                "CHoldfast", "CHoldfastPlatform", "HoldfastEnvironment", "HoldfastQuery", "HoldfastStorage",
                "HoldfastCore", "HoldfastServices", "HoldfastEngines",
            ]),
        .target(
            name: "Holdfast",
            dependencies: [
                "HoldfastEnvironment", "HoldfastQuery", "HoldfastStorage", "HoldfastCore", "HoldfastServices",
                "HoldfastEngines",
                .product(name: "OpenCombine", package: "OpenCombine", condition: .when(platforms: [.linux])),
            ]),

        .target(
            name: "HoldfastFamiliar",
            dependencies: [
                "Holdfast",
                .product(name: "OpenCombine", package: "OpenCombine", condition: .when(platforms: [.linux])),
            ]),

        .target(name: "HoldfastTestSupport", dependencies: ["Holdfast", "HoldfastFamiliar"]),

        .executableTarget(
            name: "IsoRegisters", dependencies: ["Holdfast"], path: "Sources/Examples/IsoRegisters"),
        .executableTarget(name: "PieChart", dependencies: ["HoldfastFamiliar"], path: "Sources/Examples/PieChart"),

        // What the tests share.
        .target(name: "SeededRandom", path: "Tests/SeededRandom"),
        .target(
            name: "DrawnLimits", dependencies: ["HoldfastEnvironment"], path: "Tests/DrawnLimits",
            exclude: ["draw.py", "drawn_limits.mk"]),
        .target(name: "HistoryChecker", path: "Tests/HistoryChecker"),
        .target(
            name: "StressLoad",
            dependencies: [
                "HoldfastEnvironment", "HoldfastQuery", "HoldfastStorage", "HoldfastCore", "HistoryChecker",
                "SeededRandom",
            ],
            path: "Tests/StressLoad"),
        .executableTarget(
            name: "StressProcess",
            dependencies: [
                "HoldfastEnvironment", "HoldfastQuery", "HoldfastStorage", "HoldfastCore", "HoldfastEngines",
                "HistoryChecker", "StressLoad",
            ],
            path: "Tests/StressProcess"),
        .target(
            name: "StorageConformance",
            dependencies: [
                "HoldfastEnvironment", "HoldfastQuery", "HoldfastStorage", "HoldfastCore", "HoldfastServices",
            ],
            path: "Tests/StorageConformance"),
        .target(
            name: "SwiftProvider",
            dependencies: ["CHoldfast", "Holdfast", "HoldfastABI", "HoldfastEnvironment", "HoldfastCore"],
            path: "Tests/SwiftProvider"),

        .testTarget(
            name: "HoldfastQueryTests",
            dependencies: [
                "HoldfastEnvironment", "HoldfastQuery", "CHoldfastPayload", "CHoldfastPlatform", "CHoldfastWords",
                "SeededRandom",
            ]),
        .testTarget(
            name: "HoldfastStorageTests",
            dependencies: ["HoldfastEnvironment", "HoldfastStorage", "SeededRandom", "StorageConformance"]),
        .testTarget(
            name: "HoldfastCoreTests",
            dependencies: [
                "HoldfastEnvironment", "HoldfastQuery", "HoldfastStorage", "HoldfastCore", "HoldfastServices",
                "DrawnLimits",
                "SeededRandom",
            ]),
        .testTarget(
            name: "HoldfastServicesTests",
            dependencies: [
                "HoldfastEnvironment", "HoldfastQuery", "HoldfastStorage", "HoldfastCore", "HoldfastServices",
                "StorageConformance",
            ]),
        .testTarget(
            name: "HoldfastSQLiteTests",
            dependencies: [
                "HoldfastEnvironment", "HoldfastQuery", "HoldfastStorage", "HoldfastCore", "HoldfastSQLite", "CSQLite",
                "CHoldfastPlatform", "StorageConformance",
            ]),
        .testTarget(
            name: "HoldfastPostgreSQLTests",
            dependencies: [
                "HoldfastEnvironment", "HoldfastQuery", "HoldfastStorage", "HoldfastCore", "HoldfastPostgreSQL",
                "HoldfastEngines", "StorageConformance",
            ], exclude: ["cluster.sh"]),
        .testTarget(
            name: "HoldfastTests",
            dependencies: [
                "Holdfast", "HoldfastCore", "HoldfastTestSupport", "SeededRandom",
                .product(name: "OpenCombine", package: "OpenCombine", condition: .when(platforms: [.linux])),
            ]),
        .testTarget(
            name: "HoldfastFamiliarTests",
            dependencies: [
                "Holdfast", "HoldfastFamiliar", "HoldfastTestSupport", "PieChart",
                .product(name: "OpenCombine", package: "OpenCombine", condition: .when(platforms: [.linux])),
            ]),
        .testTarget(name: "HistoryCheckerTests", dependencies: ["HistoryChecker", "SeededRandom"]),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "HoldfastEnvironment", "HoldfastQuery", "HoldfastStorage", "HoldfastCore", "DrawnLimits",
                "HistoryChecker", "SeededRandom",
            ]),
        .testTarget(
            name: "StressTests",
            dependencies: [
                "HoldfastCore", "HoldfastEnvironment", "HoldfastServices", "HoldfastEngines", "DrawnLimits",
                "HistoryChecker", "SeededRandom",
                "StorageConformance",
                "StressLoad", "StressProcess",
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// A library for the tests' own use: the Makefile says when it is wanted.
if Context.environment["HOLDFAST_TEST_LIBRARIES"] != nil {
    package.products.append(.library(name: "SwiftProvider", type: .dynamic, targets: ["SwiftProvider"]))
}

// Some of the tests, without the others and what only those need: the Makefile says which.
if let tests = Context.environment["HOLDFAST_TESTS"]?.split(separator: " ") {
    package.targets.removeAll { target in target.type == .test && !tests.contains { $0 == target.name } }
}

for target in package.targets where target.type != .system {
    var settings = target.swiftSettings ?? []
    settings += [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .treatAllWarnings(as: .error),
    ]
    target.swiftSettings = settings
}
