/// Finds cycles of dependencies and names them, the gravest first.
struct CycleSearch {
    private struct Phenomenon {
        let kind: Anomaly.Kind
        /// One edge of the cycle is this,
        let distinctive: DependencyGraph.Dependency
        /// and the others are of these.
        let others: Set<DependencyGraph.Dependency>
    }

    private static let phenomena = [
        Phenomenon(kind: .writeCycle, distinctive: .writeWrite, others: [.writeWrite]),
        Phenomenon(kind: .informationCycle, distinctive: .writeRead, others: [.writeWrite, .writeRead]),
        Phenomenon(kind: .readSkew, distinctive: .readWrite, others: [.writeWrite, .writeRead]),
        Phenomenon(
            kind: .antidependencyCycle, distinctive: .readWrite, others: [.writeWrite, .writeRead, .readWrite]),
    ]

    private typealias Step = (source: Int, edge: DependencyGraph.Edge)

    private let graph: DependencyGraph

    init(in graph: DependencyGraph) { self.graph = graph }

    /// One cycle for each kind in each set of transactions that depend on each other.
    func anomalies() -> [Anomaly] {
        // As a rule there is no cycle of any kind.
        if components(of: Set(DependencyGraph.Dependency.allCases)).isEmpty { return [] }
        var found: [Anomaly] = []
        for needsRealTime in [false, true] {
            for phenomenon in Self.phenomena {
                var allowed = phenomenon.others
                if needsRealTime { allowed.insert(.realTime) }
                for component in components(of: allowed.union([phenomenon.distinctive])) {
                    let cycle = shortestCycle(in: Set(component), phenomenon.distinctive, allowed) { cycle in
                        cycle.contains { $0.edge.dependency == .realTime } == needsRealTime
                            && !isGraver(cycle, than: phenomenon.kind)
                    }
                    if let cycle { found.append(anomaly(phenomenon.kind, needsRealTime, cycle)) }
                }
            }
        }
        return found
    }

    /// A cycle of several antidependencies is not the one of a single one again.
    private func isGraver(_ cycle: [Step], than kind: Anomaly.Kind) -> Bool {
        kind == .antidependencyCycle && cycle.count { $0.edge.dependency == .readWrite } < 2
    }

    private func components(of allowed: Set<DependencyGraph.Dependency>) -> [[Int]] {
        stronglyConnectedComponents(count: graph.edges.count) { node in
            graph.edges[node].filter { allowed.contains($0.dependency) }.map(\.target)
        }
    }

    private func shortestCycle(
        in component: Set<Int>, _ distinctive: DependencyGraph.Dependency,
        _ allowed: Set<DependencyGraph.Dependency>, where isWanted: ([Step]) -> Bool
    ) -> [Step]? {
        var shortest: [Step]?
        for source in component.sorted() {
            for edge in graph.edges[source] where edge.dependency == distinctive && component.contains(edge.target) {
                guard let way = shortestWay(from: edge.target, to: source, in: component, allowed) else { continue }
                let cycle = [(source, edge)] + way
                if cycle.count < shortest?.count ?? .max, isWanted(cycle) { shortest = cycle }
                // None is shorter than two.
                if shortest?.count == 2 { return shortest }
            }
        }
        return shortest
    }

    private func shortestWay(
        from start: Int, to goal: Int, in component: Set<Int>, _ allowed: Set<DependencyGraph.Dependency>
    ) -> [Step]? {
        var cameBy: [Int: Step] = [:]
        var queue = [start]
        var next = 0
        search: while next < queue.count {
            let node = queue[next]
            next += 1
            for edge in graph.edges[node]
            where allowed.contains(edge.dependency) && component.contains(edge.target) && edge.target != start
                && cameBy[edge.target] == nil
            {
                cameBy[edge.target] = (node, edge)
                if edge.target == goal { break search }
                queue.append(edge.target)
            }
        }
        var way: [Step] = []
        var node = goal
        while node != start {
            guard let step = cameBy[node] else { return nil }
            way.append(step)
            node = step.source
        }
        return way.reversed()
    }

    private func anomaly(_ kind: Anomaly.Kind, _ needsRealTime: Bool, _ cycle: [Step]) -> Anomaly {
        let steps = cycle.map { "T\($0.source) \($0.edge.reason) T\($0.edge.target)" }
        return Anomaly(kind, needsRealTime: needsRealTime, cycle.map(\.source), steps.joined(separator: "; "))
    }
}
