/**
 * Checks the options of one run: their names and kinds, and the names of tools in them.
 */
import {
  aBoolean,
  aFunction,
  anArray,
  anObject,
  anyValue,
  aSignal,
  aString,
  checkOptions,
  nonEmptyString,
  type OptionRule,
  type OptionTable,
  oneOf,
} from "../../check-options.js";
import { findIdProblem, formatIdError } from "../../core/data/ids.js";
import { nearestName } from "../../core/data/nearest-name.js";
import { PawlError } from "../../errors.js";
import { refuseKnownTools } from "./agent-with-run-tools.js";
import type { CompiledAgent } from "./compiled-agent.js";
import { delayRules } from "./delay.js";
import type { HistoryOptions } from "./history.js";
import type { LocalOptions, ResumeOptions } from "./local-run-options.js";
import type { Sender, StartOptions, SteerOptions } from "./run-input.js";
import { listRunToolNames, type RunTools } from "./run-tools.js";
import { checkConditionTools, compileStopWhen } from "./stop-conditions.js";
import type { EventsOptions } from "./stream-types.js";

const localRules: OptionTable<LocalOptions> = {
  output: anyValue,
  stopWhen: anyValue,
  tools: anyValue,
  dependencyOverrides: anObject,
};

/** Invalid values are ignored, as the W3C specification requires. */
const aTraceparent: OptionRule = {
  accepts: (value) => value === null || aString.accepts(value),
  expected: "a string, as in W3C's traceparent header",
};

const runRules: OptionTable<Omit<StartOptions, "sessionId" | "history" | "dropOpenCalls">> = {
  signal: aSignal,
  runId: anyValue,
  limits: anObject,
  agent: nonEmptyString,
  systemPrompt: aString,
  activeTools: anyValue,
  toolChoice: anyValue,
  interactive: aBoolean,
  providerOptions: anObject,
  model: aString,
  settings: anObject,
  params: anObject,
  by: anyValue,
  traceparent: aTraceparent,
  ...localRules,
};

const startRules: OptionTable<StartOptions> = {
  ...runRules,
  sessionId: anyValue,
  history: anArray,
  dropOpenCalls: aBoolean,
};
const streamRules: OptionTable<StartOptions & Pick<EventsOptions, "children">> = {
  ...startRules,
  children: aBoolean,
};

const modes = oneOf("queue", "steer", "interrupt", "reject");
const { dependencyOverrides: _, tools: _tools, ...sentRules } = runRules;
/** A `skip` value is checked by `checkSkip`: whether it is valid depends on the mode. */
const skipRules: OptionTable<SteerOptions> = { skip: anyValue };
const sendRules = { ...sentRules, mode: modes, ...skipRules, ...delayRules };
const { signal: _signal, limits: _limits, ...agentlessRules } = sendRules;
const aMissingSession: OptionRule = {
  accepts: (value) => value === null,
  expected: "null, if the session does not exist",
};
const postedRules = { ...agentlessRules, root: aString, seen: aMissingSession };

/** The names of other libraries for these options. */
const otherNames = {
  instructions: "systemPrompt",
  system: "systemPrompt",
  maxSteps: "limits.maxSteps",
  maxTurns: "limits.maxSteps",
  recursionLimit: "limits.maxSteps",
  maxTokens: "limits.maxTokens",
  abortSignal: "signal",
  threadId: "sessionId",
  thread_id: "sessionId",
  conversationId: "sessionId",
  resourceId: "sessionId",
  outputSchema: "output",
  outputType: "output",
  schema: "output",
  responseFormat: "output",
  tools: "the option tools of run() or createAgent(), or activeTools",
  messages: "history",
  models: "the option models of createAgent",
  temperature: "settings.temperature",
  maxOutputTokens: "settings.maxOutputTokens",
};

const checkSettings = { code: "bad_input", otherNames } as const;

/** @throws PawlError `bad_input` */
export function checkStartOptions(
  what: "run()" | "runStream()" | "iterate()",
  options: StartOptions,
  agent: NameOwner,
): void {
  checkOptions(what, what === "runStream()" ? streamRules : startRules, options, checkSettings);
  checkToolNames(options, agent);
  checkModelName(options, agent);
  if (options.sessionId !== undefined) checkSessionId(options.sessionId);
  if (options.dropOpenCalls !== undefined && options.history === undefined)
    throw new PawlError("bad_input", "dropOpenCalls requires a history. Give both, or neither.");
}

/** @throws PawlError `bad_input` */
export function checkSendOptions(options: SentOptions, agent: NameOwner): void {
  checkOptions<object>("send()", sendRules, options, checkSettings);
  checkToolNames(options, agent);
  checkModelName(options, agent);
  refuseFunctions(options);
}

type SentOptions = Omit<StartOptions, "sessionId" | "dependencyOverrides">;

/** For senders without an agent. The names of tools and models are checked later, by the process that runs the request. */
export function checkPostedOptions(options: SentOptions): void {
  checkOptions<object>("send()", postedRules, options, checkSettings);
  checkToolNames(options, null);
  refuseFunctions(options);
}

function refuseFunctions(options: SentOptions): void {
  const conditions: unknown = options.stopWhen;
  if ([conditions].flat().some((one) => typeof one === "function"))
    throw new PawlError(
      "bad_input",
      "send() does not accept a function as a stop condition, because any process may execute the run. Pass the function to the agent, or to run().",
    );
}

/** @throws PawlError `bad_input` */
export function checkSteerOptions(options: SteerOptions & Sender): void {
  checkOptions("steer()", { ...skipRules, by: anyValue }, options, checkSettings);
}

/** @throws PawlError `bad_input` */
export function checkSeedOptions(options: HistoryOptions): void {
  checkOptions("seed()", { dropOpenCalls: aBoolean }, options, checkSettings);
}

const aSessionSnapshot: OptionRule = {
  accepts: (value) =>
    anObject.accepts(value) &&
    ["state", "isPosted", "binding", "openRunIds"].every((name) => Object.hasOwn(Object(value), name)),
  expected: "a snapshot of the session: { state, isPosted, binding, openRunIds }",
};

/** @throws PawlError `bad_input` */
export function checkResumeOptions(options: ResumeOptions): void {
  const rules = { ...localRules, follow: aBoolean, onTaken: aFunction, onLeft: aFunction, seen: aSessionSnapshot };
  checkOptions("resume()", rules, options, checkSettings);
}

/** @throws PawlError `bad_input` for an id that no session can have */
export function checkSessionId(id: string): void {
  const problem = findIdProblem(id);
  if (problem !== null) throw new PawlError("bad_input", formatIdError("session", id, problem));
}

/** The names that a run may choose from: those of the agent and of the agents that it reaches, because any of them may have the session. */
type NameOwner = Pick<CompiledAgent, "tools" | "named" | "graph">;

function collectNames(agent: NameOwner, kind: "tools" | "named"): ReadonlyMap<string, unknown> {
  const { graph } = agent;
  if (graph === null) return agent[kind];
  return new Map(graph.names().flatMap((name): [string, unknown][] => [...(graph.getAgent(name)?.[kind] ?? [])]));
}

/** Only one of the agent's named models can be chosen. @throws PawlError `bad_input` */
function checkModelName({ model }: StartOptions, agent: NameOwner): void {
  if (model === undefined || agent.named.has(model)) return;
  const named = collectNames(agent, "named");
  if (named.has(model)) return;
  const near = nearestName(model, named.keys());
  const hint = near === undefined ? "" : ` Do you mean ${JSON.stringify(near)}?`;
  const known = named.size === 0 ? "The agent has no named models." : `The agent has ${[...named.keys()].join(", ")}.`;
  throw new PawlError(
    "bad_input",
    `The option model names ${JSON.stringify(model.slice(0, 100))}, which is not one of the agent's models.${hint} ${known}`,
  );
}

function collectTools(options: StartOptions, agent: NameOwner): ReadonlyMap<string, unknown> {
  const known = collectNames(agent, "tools");
  const own = listRunToolNames(options);
  return own === undefined ? known : new Map([...known, ...own.map((name) => [name, null] as const)]);
}

/** @throws PawlError `duplicate_tool` */
export function checkRunTools(tools: RunTools | undefined, agent: CompiledAgent): void {
  if (tools !== undefined) refuseKnownTools(tools, collectNames(agent, "tools"), agent);
}

/** Only tools of the agent can be chosen. @throws PawlError `bad_input` */
function checkToolNames(options: StartOptions, agent: NameOwner | null): void {
  const { activeTools, toolChoice, stopWhen } = options;
  if (activeTools === undefined && toolChoice === undefined && stopWhen === undefined) return;
  const tools = agent === null ? null : collectTools(options, agent);
  const check = (option: string, name: unknown): void => {
    if (typeof name === "string" && (tools === null || tools.has(name))) return;
    if (tools === null)
      throw new PawlError("bad_input", `${option} contains ${String(name)}. Give the tool's name as a string.`);
    const near = typeof name === "string" ? nearestName(name, tools.keys()) : undefined;
    const shown = typeof name === "string" ? JSON.stringify(name.slice(0, 100)) : String(name);
    const hint = near === undefined ? "" : ` Do you mean ${JSON.stringify(near)}?`;
    const known = tools.size === 0 ? "The agent has no tools." : `The agent has ${[...tools.keys()].join(", ")}.`;
    throw new PawlError(
      "bad_input",
      `${option} names the tool ${shown}, which the agent does not have.${hint} ${known}`,
    );
  };
  if (stopWhen !== undefined) {
    const conditions = compileStopWhen(stopWhen, "stopWhen", "bad_input");
    if (tools !== null) checkConditionTools(conditions, tools, "bad_input");
  }
  if (activeTools !== undefined) {
    if (!Array.isArray(activeTools))
      throw new PawlError("bad_input", "activeTools is not an array. Give the names of tools as an array.");
    for (const name of activeTools) check("activeTools", name);
  }
  const choice: unknown = toolChoice;
  if (choice === undefined || choice === "auto" || choice === "none" || choice === "required") return;
  const { tool, required, everyStep, ...others } = Object(choice) as { readonly [key: string]: unknown };
  const isForced =
    (tool !== undefined) !== (required === true) && [undefined, true, false].includes(everyStep as boolean);
  if (typeof choice !== "object" || !isForced || Object.keys(others).length > 0)
    throw new PawlError(
      "bad_input",
      'toolChoice must be "auto", "none", "required" or { tool: name }, with the name of a tool of the agent.',
    );
  if (tool === undefined) return;
  check("toolChoice", tool);
  if (activeTools === undefined || activeTools.includes(String(tool))) return;
  throw new PawlError(
    "bad_input",
    `toolChoice forces ${JSON.stringify(tool)}, which activeTools does not include. Add it there, or omit toolChoice.`,
  );
}
