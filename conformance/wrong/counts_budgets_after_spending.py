"""Counts only charged amounts in a budget, not the reservations of open calls and of the starting call.

Breaks LEDGER-SEMANTICS-015. Roles: verify.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace as with_

from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main
from forum_conformance.semantics.budgets import Budgets
from forum_conformance.semantics.call import Call

excess_correctly, reserve_correctly, settle_correctly = Budgets.excess, Budgets.reserve, Budgets.settle


def excess(budgets: Budgets, call: Call) -> str | None:
    return excess_correctly(budgets, with_(call, reserved=dict.fromkeys(call.reserved, 0)))


def reserve(_: Budgets, __: Call) -> None:
    pass


def settle(budgets: Budgets, call: Call, usage: Mapping[str, int] | None) -> None:
    reserve_correctly(budgets, call)
    settle_correctly(budgets, call, usage)


replace(Budgets, "excess", excess)
replace(Budgets, "reserve", reserve)
replace(Budgets, "settle", settle)
sys.exit(main(JUDGE_ROLES))
