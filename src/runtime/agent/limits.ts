/**
 * The limits of a run: their defaults, their valid values, and the checks of a cost limit.
 */
import { aBoolean, checkOptions, integerFrom, numberAbove, type OptionTable, oneOf } from "../../check-options.js";
import type { RunLimits } from "../../core/machine/run-limits.js";
import { PawlError } from "../../errors.js";
import type { Services } from "../../ports/services.js";
import type { ModelsOfAgent } from "../model/models.js";
import type { AgentFamily } from "./agent-family.js";
import type { CompiledAgent } from "./compiled-agent.js";

/** The limits of a run that an agent's author may set. See `RunLimits` for units and defaults. */
export type Limits = Partial<RunLimits>;

export const defaultLimits: RunLimits = {
  maxSteps: 200,
  maxErrors: 20,
  onMaxSteps: "summary",
  toolConcurrency: 8,
  abortGraceMs: 5_000,
  maxContinuations: 2,
  maxStopPreventions: 3,
  maxCompactions: 20,
};

/** The valid values. A limit of 0 steps or tokens would end every run before it began. */
const limitRules: OptionTable<RunLimits> = {
  maxSteps: integerFrom(1),
  maxErrors: integerFrom(1),
  onMaxSteps: oneOf("summary", "stop"),
  maxTokens: integerFrom(1),
  maxCostUsd: numberAbove(0, "dollars"),
  maxWallClockMs: integerFrom(1),
  wallClockIncludesWaiting: aBoolean,
  maxToolCallsPerStep: integerFrom(1),
  onRepeatedCall: oneOf("stop", "ask", "ignore"),
  toolConcurrency: integerFrom(1),
  abortGraceMs: integerFrom(0),
  maxContinuations: integerFrom(0),
  maxStopPreventions: integerFrom(0),
  maxCompactions: integerFrom(0),
  maxHandoffs: integerFrom(0),
  maxChildren: integerFrom(0),
  maxChildrenAtOnce: integerFrom(0),
  requireDoneTool: aBoolean,
};

/** Names that other libraries use for these limits, and guesses that are too far off to be suggested by similarity. */
const otherNames = {
  maxTurns: "maxSteps",
  maxIterations: "maxSteps",
  maxCost: "maxCostUsd",
  budget: "maxCostUsd",
  timeoutMs: "maxWallClockMs",
  maxDurationMs: "maxWallClockMs",
};

/** What the check of a cost limit depends on. */
type BudgetDeps = ModelsOfAgent & { readonly services: Services; readonly family: AgentFamily };

/**
 * Checks the limits and adds the defaults.
 * @throws PawlError `bad_configuration`; also if a cost limit is set and the cost cannot be known
 */
export function compileLimits(limits: Limits, budgeted: BudgetDeps): RunLimits {
  checkOptions("limits", limitRules, limits as RunLimits, { otherNames });
  const set = Object.entries(limits).filter(([, value]) => value !== undefined);
  const compiled: RunLimits = { ...defaultLimits, ...Object.fromEntries(set) };
  if (compiled.maxCostUsd === undefined) return compiled;
  if (budgeted.services.usage === null)
    throw new PawlError(
      "bad_configuration",
      "limits.maxCostUsd needs the cost of a run, but usage is null, so no cost is counted. Omit one of them.",
    );
  const unknown = findUnpricedModels(budgeted)[0];
  if (unknown === undefined) return compiled;
  throw unpricedError(`the model ${unknown}`, unknown);
}

function unpricedError(what: string, model: string): PawlError {
  return new PawlError(
    "bad_configuration",
    `limits.maxCostUsd needs the cost of a run, but ${what} has no price. Set one, in US dollars per million tokens: usage: { prices: { ...listPrices, ${JSON.stringify(model)}: { input: 1, output: 5 } } }, or set the field price of your own model.`,
  );
}

/**
 * Checks that a cost limit also works after handoffs. This loads the agents that a run can reach, so it is called when a run begins: agents
 * that hand over to each other cannot be loaded when the first of them is created.
 * @throws PawlError `bad_configuration`
 */
export function checkReachedPrices({ maxCostUsd }: Pick<RunLimits, "maxCostUsd">, agent: ReachDeps): void {
  if (maxCostUsd === undefined) return;
  const unknown = findUnpricedReached(agent)[0];
  if (unknown !== undefined)
    throw unpricedError(`the model ${unknown}, which the run can reach through handoffs,`, unknown);
}

type ReachDeps = Pick<CompiledAgent, "name" | "graph" | "family">;

/** The unpriced models of the agents that can be reached through handoffs, by a run or by its child sessions. */
export function findUnpricedReached({ name, graph, family }: ReachDeps): readonly string[] {
  const others = (graph?.names() ?? []).filter((other) => other !== name);
  const reached = others.flatMap((other) => graph?.getAgent(other) ?? []);
  const families = [family, ...reached.map((one) => one.family)];
  return [
    ...reached.flatMap(findUnpricedModels),
    ...families.flatMap(({ children }) => [...children.values()].flatMap((child) => child.unpricedReached())),
  ];
}

/** The unpriced models that a run may call, including those of its children. */
export function findUnpricedModels({ models, named, services, family }: BudgetDeps): readonly string[] {
  const own = [...models, ...named.values()]
    .map(({ model }) => model.id)
    .filter((id) => services.usage?.isPriced(id) !== true);
  return [...own, ...[...family.children.values()].flatMap((child) => child.unpriced)];
}
