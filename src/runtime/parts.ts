/**
 * The parts of an agent, checked and compiled once.
 */

import type { RunLimits, State } from "../core/state.js";
import { PawlError } from "../errors.js";
import type { Clock, MakeId } from "../ports/clock.js";
import type { Model as PortModel, ToolSpecification } from "../ports/model.js";
import type { RetryOptions, RetryPolicy } from "../ports/retry.js";
import type { Store } from "../ports/store.js";
import type { CanExecuteTool } from "../ports/tool.js";
import type { Listener } from "./listeners.js";
import { createRetryPolicy } from "./retry.js";
import { type CompiledTool, normaliseTools, type Tools } from "./tools.js";

export type AgentParts = {
  readonly name: string;
  readonly model: PortModel;
  readonly systemPrompt?: string;
  readonly tools: ReadonlyMap<string, CompiledTool>;
  readonly specifications: readonly ToolSpecification[];
  readonly limits: RunLimits;
  readonly retry: RetryPolicy;
  readonly canExecuteTool?: CanExecuteTool;
  readonly deps: unknown;
  readonly root?: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly makeId: MakeId;
  readonly leaseMs: number;
  readonly listeners: readonly Listener[];
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

/** @throws PawlError `bad_configuration`: a limit of 0 would end every run before it began (LOOP-4). */
export function compileLimits(limits: Limits): RunLimits {
  for (const [name, value] of Object.entries(limits)) {
    const mayBeZero =
      name === "abortGraceMs" ||
      name === "maxContinuations" ||
      name === "maxStopPreventions" ||
      name === "maxCompactions";
    if (typeof value === "number" && (!Number.isFinite(value) || value < (mayBeZero ? 0 : 1)))
      throw new PawlError(
        "bad_configuration",
        `The limit ${name} is ${value}; it must be a number of ${mayBeZero ? 0 : 1} or more. Leave it out for its default.`,
      );
  }
  const set = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
  return { ...defaultLimits, ...set };
}

export function compileTools(tools: Tools): Pick<AgentParts, "tools" | "specifications"> {
  const compiled = normaliseTools(tools);
  return { tools: compiled, specifications: [...compiled.values()].map((one) => one.specification) };
}

export function compileRetry(retry: RetryOptions | RetryPolicy | undefined): RetryPolicy {
  return retry !== undefined && "decide" in retry ? retry : createRetryPolicy(retry);
}

/** @throws PawlError `agent_mismatch`, `root_mismatch`: a session is carried on only by what it belongs to. */
export function checkAgent(sessionId: string, { session }: State, { name, root }: AgentParts): void {
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
