// Handed on, so that of what both modules name, such as `Repository`, the name alone means this module's where this one is
// imported and `Holdfast` is not; `Holdfast.Repository` means the other.
@_exported public import Holdfast
