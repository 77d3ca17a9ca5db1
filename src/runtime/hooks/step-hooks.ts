/**
 * The hooks between two model calls: `onCompacted`, `afterStep`, `beforeRun`, `beforeStep`, `beforeLLMCall`.
 */

import { defined } from "../../core/data/defined.js";
import { deepFreeze } from "../../core/data/freeze.js";
import { isObject } from "../../core/data/is-object.js";
import type { UserMessage } from "../../core/data/message.js";
import type { ModelSettings } from "../../core/data/model-settings.js";
import type { EventBody, HookPoint, HookRecord, RunOptions, ToolChoice } from "../../core/machine/event.js";
import type { Preparing } from "../../core/machine/state.js";
import { resolveToolChoice } from "../../core/machine/tool-choice.js";
import type { ShownMessages } from "../../core/transcript/message-references.js";
import { nextMessages } from "../../core/transcript/next-call.js";
import type { ModelCallSubject, StepResultSubject } from "../../ports/hook.js";
import { compileSettings, mergeSettings } from "../agent/model-settings.js";
import { toUserMessages } from "../agent/run-input.js";
import type { Cancellation } from "../lib/cancellation.js";
import type { Coroutine } from "../lib/coroutine.js";
import { type BuiltContext, buildContext } from "../work/build-context.js";
import type { EffectContext } from "../work/effect-context.js";
import { checkList, pickPaused } from "../work/message-lists.js";
import { listOfferedTools } from "../work/offered-tools.js";
import {
  callHooks,
  type HookCall,
  type HookCallResult,
  type HookVerdict,
  refuseAnswer,
  refuseAnyReturn,
} from "./call-hooks.js";
import { pickMembers, pickOnlyMember, readReason, toCheckedJson } from "./check-return.js";

/** The content of a step's model call, and the records of the hooks that determined it. */
export type Preparation = Omit<Extract<BuiltContext, { type: "built" }>, "type"> & {
  /** The input of the run, if a hook changed it. */
  readonly input?: readonly UserMessage[];
  /** Options that hooks chose for this step. */
  readonly choices: Choices;
  readonly settings?: ModelSettings;
  /** Set if the run ends instead. */
  readonly end?: EventBody;
};

type Choices = Pick<RunOptions, "activeTools" | "providerOptions" | "model"> & { readonly toolChoice?: ToolChoice };
type StepPreparing = Extract<Preparing, { for: "step" }>;

export function hasStepHooks({ agent: { hooks } }: EffectContext): boolean {
  const { onCompacted, afterStep, beforeRun, beforeStep, beforeLLMCall } = hooks;
  return onCompacted.length + afterStep.length + beforeRun.length + beforeStep.length + beforeLLMCall.length > 0;
}

/** Calls all hooks between the end of the last step and the model call of this step. */
export function* prepareWithHooks(
  state: StepPreparing,
  initial: Preparation,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<Preparation> {
  let preparation = initial;
  for (const [point, stage] of stages) {
    if (context.agent.hooks[point].length === 0) continue;
    preparation = yield* stage(state, preparation, context, cancellation);
    if (preparation.end !== undefined) break;
  }
  return preparation;
}

type Stage = (
  state: StepPreparing,
  preparation: Preparation,
  context: EffectContext,
  cancellation: Cancellation,
) => Coroutine<Preparation>;

const onCompacted: Stage = function* (state, preparation, context, cancellation) {
  const compacted = context.transcript.run?.compacted;
  if (compacted?.summary === undefined) return preparation;
  const { summary, tokensBefore, tokensAfter } = compacted;
  const call = createNotification("onCompacted", { summary, ...defined({ tokensBefore, tokensAfter }) });
  return attachRecords(state, preparation, yield* callHooks(call, context, cancellation));
};

const afterStep: Stage = function* (state, preparation, context, cancellation) {
  const result = yield* callAfterStep(context, cancellation);
  return result === null ? preparation : attachRecords(state, preparation, result);
};

const beforeRun: Stage = function* (state, preparation, context, cancellation) {
  const { run } = context.transcript;
  const isFirstCall = state.modelCallIndex <= 1 && state.attempt === 0;
  if (!isFirstCall || run === null) return preparation;
  const result = yield* callHooks(createBeforeRunCall(run.input), context, cancellation);
  const next = attachRecords(state, preparation, result);
  const { input, refuse } = result.value;
  if (next.end === undefined && refuse !== undefined) return endRunWith(state, next, "refused", refuse);
  return input === run.input ? next : rebuildWithInput(state, { ...next, input }, input, context);
};

/** Calls an author's context manager again, because its list may contain the original input. */
function rebuildWithInput(
  state: StepPreparing,
  preparation: Preparation,
  input: readonly UserMessage[],
  context: EffectContext,
): Preparation {
  if (preparation.list === null) return preparation;
  const built = buildContext(state, context, deepFreeze(input));
  if (built.type === "failed") return { ...preparation, end: createManagerFailure(state, built.message) };
  return { ...preparation, ...built, records: [...preparation.records, ...built.records] };
}

/** Ends the run because its context manager threw, or returned messages that cannot be sent. */
export function createManagerFailure({ runId, modelCallIndex }: StepPreparing, why: string): EventBody {
  const fault = { code: "hook_failed", message: `the context manager failed: ${why}`, retryable: false };
  return { type: "run_finished", runId, modelCallIndex, reason: "hook_failed", fault };
}

type RunInput = { readonly input: readonly UserMessage[]; readonly refuse?: string };

function createBeforeRunCall(input: RunInput["input"]): HookCall<RunInput> {
  return {
    point: "beforeRun",
    initial: { input },
    toSubject: (present) => ({ input: present.input }),
    accept(answer) {
      const member = pickOnlyMember(answer, ["input", "refuse"]);
      if (member?.key === "input")
        return { type: "changed", to: { input: toUserMessages(member.value as Parameters<typeof toUserMessages>[0]) } };
      const refuse = readReason(member?.value);
      if (refuse === undefined) return refuseAnswer(answer, "{ input } or { refuse: reason }");
      return { type: "settled", to: { input, refuse } };
    },
  };
}

const beforeStep: Stage = function* (state, preparation, context, cancellation) {
  const { modelCallIndex, purpose } = state;
  const call = createNotification("beforeStep", { modelCallIndex, purpose });
  return attachRecords(state, preparation, yield* callHooks(call, context, cancellation));
};

const beforeModelCall: Stage = function* (state, preparation, context, cancellation) {
  let { shown } = preparation;
  // Created lazily, when a hook reads or changes the messages, because it copies the conversation.
  const showing = () => (shown ??= nextMessages(context.transcript, state, preparation));
  const call: HookCall<ModelCallChoices> = {
    point: "beforeLLMCall",
    initial: preparation,
    toSubject: (chosen) => createModelCallSubject(state, chosen, showing, context),
    accept: (answer, chosen) => applyChoices(answer, chosen, { state, showing, context }),
  };
  const result = yield* callHooks(call, context, cancellation);
  const { systemPrompt, list, choices, settings } = result.value;
  const chosen = { systemPrompt, list, shown, choices, ...defined({ settings }) };
  return { ...attachRecords(state, preparation, result), ...chosen };
};

const stages: readonly (readonly [HookPoint, Stage])[] = [
  ["onCompacted", onCompacted],
  ["afterStep", afterStep],
  ["beforeRun", beforeRun],
  ["beforeStep", beforeStep],
  ["beforeLLMCall", beforeModelCall],
];

/** The choices of a `beforeLLMCall` hook. */
type ModelCallChoices = Pick<Preparation, "systemPrompt" | "list" | "choices" | "settings">;
type Showing = () => ShownMessages;

function createModelCallSubject(
  { modelCallIndex, purpose }: StepPreparing,
  { systemPrompt, list, choices, settings }: ModelCallChoices,
  showing: Showing,
  context: EffectContext,
): ModelCallSubject {
  const { transcript, agent } = context;
  const options = { ...transcript.run?.options, ...choices };
  const { activeTools = listOfferedTools(context).map(({ name }) => name), providerOptions, model } = options;
  const toolChoice = choices.toolChoice ?? resolveToolChoice(transcript.run?.options.toolChoice, modelCallIndex);
  const all = mergeSettings(agent.settings, transcript.run?.options.settings, settings);
  // Frozen member by member: freezing everything would visit every message, even if no hook reads them.
  return Object.freeze({
    modelCallIndex,
    purpose,
    activeTools: deepFreeze(activeTools),
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
    ...(toolChoice === undefined ? {} : { toolChoice: deepFreeze(toolChoice) }),
    ...(providerOptions === undefined ? {} : { providerOptions: deepFreeze(providerOptions) }),
    ...(model === undefined ? {} : { model }),
    ...(all === null ? {} : { settings: deepFreeze(all) }),
    get messages() {
      return deepFreeze(list ?? showing().messages);
    },
  });
}

const choiceKeys = ["systemPrompt", "activeTools", "toolChoice", "providerOptions", "model", "settings", "messages"];
const allowedText = `{ ${choiceKeys.join(", ")} }, any of them, with tools and models of the agent`;

type ChoiceContext = { readonly state: StepPreparing; readonly showing: Showing; readonly context: EffectContext };

function applyChoices(
  answer: unknown,
  chosen: ModelCallChoices,
  choiceContext: ChoiceContext,
): HookVerdict<ModelCallChoices> {
  const members = pickMembers(answer, choiceKeys);
  if (members === undefined) return refuseAnswer(answer, allowedText);
  let to: ModelCallChoices = chosen;
  for (const [key, value] of Object.entries(members)) {
    if (value === undefined) continue;
    const next =
      key === "messages" ? chooseMessages(to, value, choiceContext) : chooseOption(to, key, value, choiceContext);
    if (typeof next === "string") return { type: "refused", message: next };
    to = next;
  }
  return { type: "changed", to };
}

/** Returns a string with the reason if the list is rejected. */
function chooseMessages(
  chosen: ModelCallChoices,
  value: unknown,
  { state, showing }: ChoiceContext,
): ModelCallChoices | string {
  const shown = showing();
  const known = [...shown.messages, ...(chosen.list ?? [])];
  const checked = checkList(value, { known, ...pickPaused(shown, state) });
  return checked.ok ? { ...chosen, list: checked.messages } : `It cannot be sent: ${checked.reason}.`;
}

function chooseOption(
  chosen: ModelCallChoices,
  key: string,
  value: unknown,
  { context }: ChoiceContext,
): ModelCallChoices | string {
  const { choices } = chosen;
  const isTool = (name: unknown) => typeof name === "string" && context.agent.tools.has(name);
  if (key === "systemPrompt" && typeof value === "string" && value.length <= maxPrompt)
    return { ...chosen, systemPrompt: value };
  if (key === "activeTools" && Array.isArray(value) && value.every(isTool))
    return { ...chosen, choices: { ...choices, activeTools: [...new Set(value)] } };
  if (key === "toolChoice" && isToolChoice(value, isTool))
    return { ...chosen, choices: { ...choices, toolChoice: structuredClone(value) } };
  if (key === "providerOptions" && isProviderOptions(value)) {
    const providerOptions = toCheckedJson(value, maxOptionBytes) as ProviderOptions;
    return { ...chosen, choices: { ...choices, providerOptions } };
  }
  if (key === "model" && typeof value === "string" && context.agent.named.has(value))
    return { ...chosen, choices: { ...choices, model: value } };
  if (key === "settings" && typeof value === "object" && value !== null)
    return { ...chosen, settings: { ...chosen.settings, ...compileSettings(value) } };
  return `What it returned for ${key} cannot be used; it may return ${allowedText}.`;
}

type ProviderOptions = NonNullable<RunOptions["providerOptions"]>;

const maxPrompt = 900_000;
const maxOptionBytes = 64 * 1024;

function isToolChoice(value: unknown, isTool: (name: unknown) => boolean): value is ToolChoice {
  if (value === "auto" || value === "none" || value === "required") return true;
  const named = pickOnlyMember(value, ["tool"]);
  return named !== undefined && isTool(named.value);
}

function isProviderOptions(value: unknown): boolean {
  return isObject(value) && Object.values(value).every(isObject);
}

/** Calls the `afterStep` hooks for the last step, once per step; null if there is no such step or hook. */
export function* callAfterStep(
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<HookCallResult<undefined> | null> {
  const { run } = context.transcript;
  if (context.agent.hooks.afterStep.length === 0 || run === null || run.leftSteps >= run.steps) return null;
  return yield* callHooks(createNotification("afterStep", createStepResult(context)), context, cancellation);
}

export function createStepResult({ state, transcript }: EffectContext): StepResultSubject {
  return {
    modelCallIndex: state.status === "idle" ? 0 : state.counters.totalSteps,
    text: transcript.run?.answer ?? "",
    calls: [...transcript.calls.values()].flatMap(({ callKey, part, tool = part.name, input, result }) =>
      result === undefined ? [] : [{ callKey, name: tool, input, outcome: result.outcome, output: result.output }],
    ),
  };
}

/** A call of hooks that return nothing. */
export function createNotification(point: HookCall<undefined>["point"], subject: object): HookCall<undefined> {
  return { point, initial: undefined, toSubject: () => subject, accept: refuseAnyReturn };
}

function attachRecords(
  state: StepPreparing,
  preparation: Preparation,
  { records, failure }: HookCallResult<unknown>,
): Preparation {
  const next = { ...preparation, records: [...preparation.records, ...records] };
  return failure === undefined ? next : endRunWith(state, next, "hook_failed", failure);
}

function endRunWith(
  { runId, modelCallIndex }: StepPreparing,
  preparation: Preparation,
  reason: "refused" | "hook_failed",
  message: string,
): Preparation {
  const fault = { code: reason, message, retryable: false };
  const hooks = pickHookRecords(preparation.records);
  return { ...preparation, end: { type: "run_finished", runId, modelCallIndex, reason, fault, ...hooks } };
}

/** The records of hooks, if there are any. A copy, because the log keeps it and a grown array has spare capacity. */
export function pickHookRecords(hooks: readonly HookRecord[]): { readonly hooks?: readonly HookRecord[] } {
  return hooks.length === 0 ? {} : { hooks: hooks.slice() };
}
