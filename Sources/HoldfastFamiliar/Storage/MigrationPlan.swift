public import Holdfast

/// A step that leads from one version of the schema to the next.
public typealias Migration = Upgrade

/// The migrations that a program knows: `Store.open("music.db", upgrades: MigrationPlan(Migration(from: 0) { … }))`.
public typealias MigrationPlan = UpgradePlan
