import Foundation
import Holdfast

/// The repositories of the store.
struct Registers {
    let countries: Repository<Country>
    let subdivisions: Repository<Subdivision>
    let languages: Repository<Language>
    let currencies: Repository<Currency>
    let scripts: Repository<Script>

    init(_ store: Store) {
        countries = store.repository(of: Country.self, named: "countries", key: "alpha_2")
        subdivisions = store.repository(of: Subdivision.self, named: "subdivisions", key: "code")
        languages = store.repository(of: Language.self, named: "languages", key: "alpha_3")
        currencies = store.repository(of: Currency.self, named: "currencies", key: "alpha_3")
        scripts = store.repository(of: Script.self, named: "scripts", key: "alpha_4")
    }
}

/// An entry of one of the registers.
protocol Register: Codable, Identifiable, Sendable, Equatable where ID == String {
    /// The number of the standard.
    static var standard: String { get }
}

extension Register {
    /// The register's entries, as the package iso-codes has them.
    static func all() throws -> [Self] {
        let file = URL(fileURLWithPath: "/usr/share/iso-codes/json/iso_\(standard).json")
        return try JSONDecoder().decode([String: [Self]].self, from: Data(contentsOf: file))[standard] ?? []
    }
}

struct Country: Register {
    static let standard = "3166-1"
    var code: String
    var name: String
    var officialName: String?
    var visited: Int?
    var id: String { code }

    enum CodingKeys: String, CodingKey {
        case code = "alpha_2"
        case name, visited
        case officialName = "official_name"
    }
}

struct Subdivision: Register {
    static let standard = "3166-2"
    var code: String
    var name: String
    var type: String
    var parent: String?
    var id: String { code }
}

struct Language: Register {
    static let standard = "639-3"
    var code: String
    var name: String
    var type: String
    var scope: String
    var number: Int?
    var id: String { code }

    enum CodingKeys: String, CodingKey {
        case code = "alpha_3"
        case name, type, scope, number
    }
}

struct Currency: Register {
    static let standard = "4217"
    var code: String
    var name: String
    var numeric: String
    var id: String { code }

    enum CodingKeys: String, CodingKey {
        case code = "alpha_3"
        case name, numeric
    }
}

struct Script: Register {
    static let standard = "15924"
    var code: String
    var name: String
    var onDuty: Bool?
    var id: String { code }

    enum CodingKeys: String, CodingKey {
        case code = "alpha_4"
        case name
        case onDuty = "on_duty"
    }
}
