"""Counts in a budget what was charged, and not what open calls, and the call that begins, have reserved.

Breaks LEDGER-SEMANTICS-015 in verify.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace as with_

from forum_conformance.program.parts import replace
from forum_conformance.program.serving import JUDGE, main
from forum_conformance.semantics.budgets import Budgets
from forum_conformance.semantics.call import Call

excess_rightly, reserve_rightly, settle_rightly = Budgets.excess, Budgets.reserve, Budgets.settle


def excess(budgets: Budgets, call: Call) -> str | None:
    return excess_rightly(budgets, with_(call, reserved=dict.fromkeys(call.reserved, 0)))


def reserve(_: Budgets, __: Call) -> None:
    pass


def settle(budgets: Budgets, call: Call, usage: Mapping[str, int] | None) -> None:
    reserve_rightly(budgets, call)
    settle_rightly(budgets, call, usage)


replace(Budgets, "excess", excess)
replace(Budgets, "reserve", reserve)
replace(Budgets, "settle", settle)
sys.exit(main(JUDGE))
