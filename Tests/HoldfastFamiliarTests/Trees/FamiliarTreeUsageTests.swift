import HoldfastFamiliar
import Testing

@testable import PieChart

/// The usage that people know from trees of objects with a chart whose parts are always 100 %. What differs stands at the
/// head of PieChart.swift, which is the chart.
@Suite("As known from trees of objects")
struct FamiliarTreeTests {
    @Test("two halves make a chart")
    func halves() throws {
        let chart = PieChart()
        try chart.transaction({
            chart.addElement(label: "Part #1", percentage: 50)
            chart.addElement(label: "Part #2", percentage: 50)
        })
        #expect(chart.elements.mapValues(\.percentage) == ["Part #1": 50, "Part #2": 50])
    }

    @Test(
        "too big, or negative, or not adding up: each is thrown, and the chart stays as it was",
        arguments: [
            (60, 50, PieChartError.totalPercentageIsNot100), (40, 50, .totalPercentageIsNot100),
            (150, -50, .elementIsGreaterThan100), (-50, 150, .elementIsNotPositive),
        ])
    func refused(first: Int, second: Int, refusal: PieChartError) throws {
        let chart = PieChart()
        #expect(throws: refusal) {
            try chart.transaction({
                chart.addElement(label: "Part #1", percentage: first)
                chart.addElement(label: "Part #2", percentage: second)
            })
        }
        #expect(chart.elements.isEmpty)
        try chart.transaction({ chart.addElement(label: "Whole", percentage: 100) })
        #expect(chart.elements["Whole"]?.percentage == 100)
    }
}
