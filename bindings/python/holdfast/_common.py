"""The names that the package and `holdfast.aio` have in common.

`import X as X` and `import *` are what tells checkers of types that a name is handed on.
"""

from ._forms import register_type as register_type
from ._verbs import ModifyResult as ModifyResult
from .aggregation import AggregateEvent as AggregateEvent
from .cache import CachePolicy as CachePolicy
from .changes import ChangeBatch as ChangeBatch
from .changes import CommittedChanges as CommittedChanges
from .changes import EntityChange as EntityChange
from .controller import reduce as reduce
from .difference import Difference as Difference
from .difference import Moved as Moved
from .difference import Placed as Placed
from .difference import Removed as Removed
from .difference import Section as Section
from .difference import Snapshot as Snapshot
from .difference import apply_difference as apply_difference
from .errors import *  # noqa: F403
from .expressions import Expression as Expression
from .expressions import F as F
from .expressions import Field as Field
from .model import Model as Model
from .preferences import Preference as Preference
from .provider import ProviderWrite as ProviderWrite
from .provider import StorageProvider as StorageProvider
from .receipt import Change as Change
from .receipt import Receipt as Receipt
from .store import handle_count as handle_count
from .transaction import TransactionState as TransactionState
from .tree import ANY_TRANSACTION as ANY_TRANSACTION
from .tree import Transactable as Transactable
from .version import feature_available as feature_available
from .version import version_text as version_text
