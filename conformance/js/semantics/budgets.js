// @ts-check
/** Reserves and charges calls in the budgets of the run, its agents and its tasks (LEDGER-SEMANTICS-015). */

import { ensure } from "./rule_violation.js";

/** @typedef {Record<string, bigint>} Amounts BigInt, because a sum of safe integers may not be safe */
/** @typedef {{limits: [string, bigint][], used: Amounts}} Scope `used` includes charges and open reservations */
/** @typedef {{scopes: Scope[], amounts: Amounts, calls: bigint}} Reservation */

const RESOURCES = ["calls", "input_tokens", "output_tokens", "tokens", "micro_usd", "output_bytes"];
const TOTALS = [
  "calls",
  "input_tokens",
  "cached_input_tokens",
  "output_tokens",
  "micro_usd",
  "output_bytes",
  "wall_ms",
];

const MAX_TOTAL = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * @param {string[]} names
 * @returns {Amounts}
 */
const zeros = (names) => Object.fromEntries(names.map((name) => [name, 0n]));

/**
 * @param {Record<string, number>} numbers the amounts that an entry reserves or uses
 * @param {bigint} calls
 * @returns {Amounts}
 */
function amountsOf(numbers, calls) {
  const amounts = Object.fromEntries(Object.entries(numbers).map(([name, number]) => [name, BigInt(number)]));
  return { ...amounts, calls, tokens: amounts.input_tokens + amounts.output_tokens };
}

/**
 * @param {Amounts} sum
 * @param {Amounts} amounts
 * @param {bigint} sign
 */
function add(sum, amounts, sign = 1n) {
  for (const name of Object.keys(sum)) sum[name] += sign * (amounts[name] ?? 0n);
}

/**
 * @param {Record<string, number>} [budget]
 * @returns {Scope}
 */
function scopeOf(budget = {}) {
  const limited = RESOURCES.filter((name) => budget[name] !== undefined);
  return { limits: limited.map((name) => [name, BigInt(budget[name])]), used: zeros(RESOURCES) };
}

export class Budgets {
  /** @param {any} plan */
  constructor(plan) {
    this.run = scopeOf(plan.policy.budget);
    this.agents = new Map(Object.keys(plan.agents).map((name) => [name, scopeOf(plan.agents[name].limits)]));
    this.tasks = new Map(Object.keys(plan.tasks).map((id) => [id, scopeOf(plan.tasks[id].budget)]));
    this.totals = zeros(TOTALS);
  }

  /**
   * Reserves the amounts of a call. Throws if they exceed a budget.
   * @param {string | null} agent null for a check by a command
   * @param {string} task
   * @param {Record<string, number>} reserved
   * @returns {Reservation}
   */
  reserve(agent, task, reserved) {
    const calls = agent === null ? 0n : 1n;
    const amounts = amountsOf(reserved, calls);
    const candidates = [this.run, agent === null ? undefined : this.agents.get(agent), this.tasks.get(task)];
    const scopes = /** @type {Scope[]} */ (candidates.filter((scope) => scope !== undefined));
    for (const scope of scopes) {
      const fits = scope.limits.every(([name, limit]) => scope.used[name] + amounts[name] <= limit);
      ensure(fits, "L412", "the call exceeds a budget");
    }
    for (const scope of scopes) add(scope.used, amounts);
    return { scopes, amounts, calls };
  }

  /**
   * Charges a call that has ended.
   * @param {Reservation} reservation
   * @param {Record<string, number> | null} usage null for a lost call, which is charged its reservation
   */
  settle({ scopes, amounts, calls }, usage) {
    const charged = usage === null ? amounts : amountsOf(usage, calls);
    for (const scope of scopes) {
      add(scope.used, amounts, -1n);
      add(scope.used, charged);
    }
    add(this.totals, charged);
  }

  /** @param {Record<string, number>} expected */
  matchesTotals(expected) {
    return TOTALS.every((name) => {
      const total = this.totals[name];
      return BigInt(expected[name]) === (total > MAX_TOTAL ? MAX_TOTAL : total);
    });
  }
}
