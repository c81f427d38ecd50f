// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that whoever uses Holdfast does not fetch GRDB.
let package = Package(
    name: "swift-engines",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "holdfast", path: "../../.."),
        .package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"),
    ],
    targets: [
        .executableTarget(
            name: "SwiftEngines",
            dependencies: [
                .product(name: "Holdfast", package: "holdfast"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)])
    ],
    swiftLanguageModes: [.v6]
)
