import Foundation
import HoldfastFamiliar

/// How an element is stored.
struct Slice: Codable, Identifiable, Sendable, Equatable {
    var id: String
    var percentage: Int
}

/// A pie chart that is never wrong: alone, and with its elements stored.
///
///     swift run PieChart
///
/// Every step checks what it shows; the program exits with 1 at the first check that fails.
@main
struct Main {
    static func main() async throws {
        try alone()
        let store = try await Store.open("memory:")
        try await stored(store, store.repository(of: Slice.self))
        try await store.close()
        print("Everything held.")
    }

    static func alone() throws {
        print("Alone")
        let chart = PieChart()
        do {
            try chart.transaction({
                chart.addElement(label: "Part #1", percentage: 50)
                chart.addElement(label: "Part #2", percentage: 50)
            })
        } catch {
            print(error)
        }
        chart.elements.values.sorted { $0.label < $1.label }.forEach({
            print("  \($0.label), \($0.percentage)%")
        })
        check(chart.elements.count == 2, "two halves make a chart")

        let first = chart.elements["Part #1"]!
        for (percentage, refusal) in [
            (60, PieChartError.totalPercentageIsNot100), (0, .totalPercentageIsNot100), (150, .totalPercentageIsNot100),
        ] {
            check(
                fails(refusal) { try chart.transaction { first.percentage = percentage } } && first.percentage == 50,
                "\(percentage) % and 50 % are refused, and the chart goes back")
        }
        check(
            fails(.elementIsNotPositive) {
                try chart.transaction {
                    first.percentage = -50
                    chart.elements["Part #2"]!.percentage = 150
                }
            } && first.percentage == 50, "-50 % and 150 % are 100 %, and the first of them is refused")
        check(
            fails(.totalPercentageIsNot100) {
                try chart.transaction {
                    chart.removeElement(label: "Part #1")
                    chart.addElement(label: "Part #3", percentage: 49)
                }
            } && chart.elements["Part #1"] === first && chart.elements["Part #3"] == nil,
            "what was removed is back, and what was added is gone")
    }

    static func stored(_ store: Store, _ slices: Holdfast.Repository<Slice>) async throws {
        print("With a store")
        let chart = PieChart()
        try await store.transaction(chart) {
            for label in ["Part #1", "Part #2"] {
                chart.addElement(label: label, percentage: 50)
                try await slices.save(Slice(id: label, percentage: 50))
            }
        }
        check(try await agree(chart, slices), "chart and store agree")

        do {
            try await store.transaction(chart) {
                chart.elements["Part #1"]!.percentage = 60
                try await slices.save(Slice(id: "Part #1", percentage: 60))
            }
            check(false, "110 % are refused")
        } catch PieChartError.totalPercentageIsNot100 {
            check(try await agree(chart, slices), "110 % are refused, and chart and store agree")
        }

        var attempts = 0
        try await store.transaction(chart) {
            attempts += 1
            var slice = try await slices.fetch(id: "Part #1")!
            if attempts == 1 {
                // Another task gets in between.
                _ = try await Task.detached { try await slices.save(Slice(id: "Part #1", percentage: 70)) }.value
            }
            slice.percentage -= 10
            chart.elements["Part #1"]!.percentage = slice.percentage
            chart.elements["Part #2"]!.percentage = 100 - slice.percentage
            try await slices.save(slice)
            try await slices.save(Slice(id: "Part #2", percentage: 100 - slice.percentage))
        }
        check(try await agree(chart, slices), "after a conflict with another task chart and store agree")
        check(
            attempts == 2 && chart.elements["Part #1"]!.percentage == 60,
            "the transaction ran again, on what is stored now")
    }

    nonisolated(nonsending) static func agree(
        _ chart: PieChart, _ slices: Holdfast.Repository<Slice>
    ) async throws -> Bool {
        try await slices.fetchAll().map { "\($0.id) \($0.percentage)" }
            == chart.elements.values.map { "\($0.label) \($0.percentage)" }.sorted()
    }

    static func fails(_ error: PieChartError, _ body: () throws -> Void) -> Bool {
        do { try body() } catch let thrown as PieChartError { return thrown == error } catch {}
        return false
    }
}

/// Prints what was checked; ends the program when it does not hold.
func check(_ holds: Bool, _ sentence: String) {
    print("  \(holds ? "ok" : "FAILED")  \(sentence)")
    if !holds { exit(1) }
}
