/**
 * The parts of an agent, checked and compiled once.
 */

import type { Compaction } from "../../context/compaction-options.js";
import type { CompiledContext } from "../../context/context-options.js";
import type { HolderDefaults } from "../../core/machine/inbox.js";
import type { RunLimits, State } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { Clock, MakeId } from "../../ports/clock.js";
import type { ToolSpecification } from "../../ports/model.js";
import type { Services } from "../../ports/services.js";
import type { Store } from "../../ports/store.js";
import type { AnyTool, CanExecuteTool } from "../../ports/tool.js";
import type { CalledModels } from "../model/models.js";
import type { Listener } from "../observers/listeners.js";
import type { Redact } from "../observers/redact.js";
import { type CompiledTool, compileTool, normaliseTools, type Tools } from "../tools/compile-tools.js";
import type { AgentFamily } from "./agent-family.js";
import type { Hooks } from "./compile-hooks.js";
import type { LocalRunStates } from "./local-run-options.js";

export type CompiledAgent = {
  readonly name: string;
  readonly models: CalledModels;
  readonly systemPrompt?: string;
  readonly tools: ReadonlyMap<string, CompiledTool>;
  readonly specifications: readonly ToolSpecification[];
  readonly limits: RunLimits;
  readonly canExecuteTool?: CanExecuteTool;
  readonly hooks: Hooks;
  readonly deps: unknown;
  readonly services: Services;
  readonly compaction: Compaction;
  readonly context: CompiledContext;
  readonly locals: LocalRunStates;
  readonly root?: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly makeId: MakeId;
  readonly leaseMs: number;
  readonly listeners: readonly Listener[];
  readonly redact: Redact;
  readonly family: AgentFamily;
};

/** Bounds of a run, as an agent's author may set them; see `RunLimits` for units and defaults. */
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

/** The least that each limit may be. */
const leastLimits = {
  maxSteps: 1,
  maxErrors: 1,
  maxTokens: 1,
  maxWallClockMs: 1,
  maxToolCallsPerStep: 1,
  toolConcurrency: 1,
  abortGraceMs: 0,
  maxContinuations: 0,
  maxStopPreventions: 0,
  maxCompactions: 0,
} as const satisfies { readonly [Name in keyof RunLimits]?: number };

/** @throws PawlError `bad_configuration`: a limit of 0 would end every run before it began (LOOP-4). */
function compileLimits(limits: Limits): RunLimits {
  const set = Object.entries(limits).filter(([, value]) => value !== undefined);
  for (const [name, value] of set) checkLimit(name, value);
  return { ...defaultLimits, ...Object.fromEntries(set) };
}

function checkLimit(name: string, value: unknown): void {
  const wanted = wantedOf(name, value);
  if (wanted === undefined) return;
  const given = typeof value === "string" ? JSON.stringify(value) : String(value);
  throw new PawlError(
    "bad_configuration",
    `The limit ${name} is ${given}; it must be ${wanted}. Leave it out for its default.`,
  );
}

/** The limits that are not whole numbers: what each may be, and how that is said. */
const otherLimits = {
  maxCostUsd: { takes: (value) => Number.isFinite(value) && (value as number) > 0, wanted: "dollars, more than 0" },
  onMaxSteps: { takes: (value) => value === "summary" || value === "stop", wanted: '"summary" or "stop"' },
  onRepeatedCall: {
    takes: (value) => value === "stop" || value === "ask" || value === "ignore",
    wanted: '"stop", "ask" or "ignore"',
  },
  requireDoneTool: { takes: (value) => typeof value === "boolean", wanted: "true or false" },
  wallClockIncludesWaiting: { takes: (value) => typeof value === "boolean", wanted: "true or false" },
} as const satisfies {
  readonly [Name in keyof RunLimits]?: { readonly takes: (value: unknown) => boolean; readonly wanted: string };
};

/** What a limit must be that it is not. */
function wantedOf(name: string, value: unknown): string | undefined {
  if (isKeyOf(otherLimits, name)) return otherLimits[name].takes(value) ? undefined : otherLimits[name].wanted;
  if (!isKeyOf(leastLimits, name)) {
    const known = [...Object.keys(leastLimits), ...Object.keys(otherLimits)].join(", ");
    throw new PawlError("bad_configuration", `There is no limit ${name}. There are ${known}.`);
  }
  const least = leastLimits[name];
  return Number.isSafeInteger(value) && (value as number) >= least ? undefined : `a whole number of ${least} or more`;
}

function isKeyOf<Table extends object>(table: Table, name: string): name is Extract<keyof Table, string> {
  return Object.hasOwn(table, name);
}

type Budgeted = Pick<CompiledAgent, "models" | "services" | "family">;

/**
 * The limits of a run of this agent.
 * @throws PawlError `bad_configuration`: also where a cost is limited that could not be known
 */
export function limitsOf(limits: Limits, budgeted: Budgeted): RunLimits {
  const compiled = compileLimits(limits);
  if (compiled.maxCostUsd === undefined) return compiled;
  if (budgeted.services.usage === null)
    throw new PawlError(
      "bad_configuration",
      "A run is limited by maxCostUsd, and usage is null: its cost is not counted. Leave one of them out.",
    );
  const unknown = unpricedModels(budgeted)[0];
  if (unknown === undefined) return compiled;
  throw new PawlError(
    "bad_configuration",
    `A run is limited by maxCostUsd, and the model ${unknown} has no price. Give it one, in dollars for a million tokens: usage: { prices: { ...listPrices, ${JSON.stringify(unknown)}: { input: 1, output: 5 } } }.`,
  );
}

/** The models that a run may call, its children's included, and that have no price. */
export function unpricedModels({ models, services, family }: Budgeted): readonly string[] {
  const own = models.map(({ model }) => model.id).filter((id) => services.usage?.isPriced(id) !== true);
  return [...own, ...[...family.children.values()].flatMap((child) => child.unpriced)];
}

/** @throws PawlError `bad_configuration` */
export function checkName(name: string): string {
  if (typeof name === "string" && name !== "" && name.length <= 200) return name;
  throw new PawlError(
    "bad_configuration",
    "An agent's name is a text of 1 to 200 characters. Leave it out for its default.",
  );
}

/** @throws PawlError `bad_configuration`: a lease that is shorter cannot be renewed in time. */
export function checkLease(leaseMs: number): number {
  if (Number.isFinite(leaseMs) && leaseMs >= shortestLeaseMs) return leaseMs;
  throw new PawlError("bad_configuration", `leaseMs is ${leaseMs}; it must be ${shortestLeaseMs} or more.`);
}

const shortestLeaseMs = 100;

/** @param builtIn beside tools of the author's own, whose names go before */
export function compileTools(
  tools: Tools,
  builtIn: readonly AnyTool[],
): Pick<CompiledAgent, "tools" | "specifications"> {
  const compiled = new Map(normaliseTools(tools));
  if (compiled.size > 0)
    for (const tool of builtIn) if (!compiled.has(tool.name)) compiled.set(tool.name, compileTool(tool));
  return { tools: compiled, specifications: [...compiled.values()].map((one) => one.specification) };
}

/** What the holder fills in for a poster that has no agent. */
export function holderDefaults({ limits, models }: Pick<CompiledAgent, "limits" | "models">): HolderDefaults {
  return { limits, model: models[0].model.id };
}

/** @throws PawlError `agent_mismatch`, `root_mismatch`: a session is carried on only by what it belongs to. */
export function checkAgent(sessionId: string, { session }: State, { name, root }: CompiledAgent): void {
  if (session === null) return;
  if (session.agent !== name)
    throw new PawlError(
      "agent_mismatch",
      `Session ${sessionId} belongs to the agent "${session.agent}", not to "${name}". Carry it on with that agent, or start a new session.`,
    );
  if (session.root !== undefined && root !== undefined && session.root !== root)
    throw new PawlError(
      "root_mismatch",
      `Session ${sessionId} works in ${session.root}, not in ${root}. Carry it on there, or start a new session.`,
    );
}
