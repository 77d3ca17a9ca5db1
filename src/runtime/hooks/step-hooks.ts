/**
 * The hooks before a step and after it: `onCompacted`, `afterStep`, `beforeRun`, `beforeStep`, `beforeLLMCall`.
 */

import type { UserMessage } from "../../core/data/message.js";
import type { EventBody, HookRecord, RunOptions, ToolChoice } from "../../core/machine/event.js";
import type { Preparing } from "../../core/machine/state.js";
import { toolChoiceAt } from "../../core/machine/tool-choice.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import type { ModelCallSubject, StepResultSubject } from "../../ports/hook.js";
import { messagesOf } from "../agent/run-input.js";
import type { Cancellation } from "../lib/cancellation.js";
import { freeze } from "../lib/freeze.js";
import { andThen } from "../lib/maybe-promise.js";
import type { EffectContext } from "../work/effect-context.js";
import {
  callHooks,
  type HookCall,
  type HookCallResult,
  type HookVerdict,
  refuseAnyReturn,
  refused,
} from "./call-hooks.js";
import { jsonIn, membersOf, oneOf, reasonIn } from "./check-return.js";

/** What is known of a step before its model call. */
export type Preparation = {
  readonly records: readonly HookRecord[];
  readonly input?: readonly UserMessage[];
  readonly systemPrompt: string | undefined;
  /** What is shown after the conversation. */
  readonly append: readonly UserMessage[];
  /** What hooks chose. */
  readonly choices: Choices;
  /** The run ends instead. */
  readonly end?: EventBody;
};

type Choices = Pick<RunOptions, "activeTools" | "providerOptions"> & { readonly toolChoice?: ToolChoice };
type StepPreparing = Extract<Preparing, { for: "step" }>;

export function hasStepHooks({ parts: { hooks } }: EffectContext): boolean {
  const { onCompacted, afterStep, beforeRun, beforeStep, beforeLLMCall } = hooks;
  return onCompacted.length + afterStep.length + beforeRun.length + beforeStep.length + beforeLLMCall.length > 0;
}

/** Calls all hooks that come between the last step and the model call of this one. */
export function prepareWithHooks(
  state: StepPreparing,
  first: Preparation,
  work: EffectContext,
  cancellation: Cancellation,
): Preparation | Promise<Preparation> {
  const stages: readonly Stage[] = [
    callOnCompacted,
    callAfterStepStage,
    callBeforeRun,
    callBeforeStep,
    callBeforeModelCall,
  ];
  const from = (index: number, so: Preparation): Preparation | Promise<Preparation> => {
    const stage = stages[index];
    if (stage === undefined || so.end !== undefined) return so;
    return andThen(stage(state, so, work, cancellation), (next) => from(index + 1, next));
  };
  return from(0, first);
}

type Stage = (
  state: StepPreparing,
  so: Preparation,
  work: EffectContext,
  cancellation: Cancellation,
) => Preparation | Promise<Preparation>;

const callOnCompacted: Stage = (state, so, work, cancellation) => {
  const { hooks } = work.parts;
  const compacted = work.transcript.run?.compacted;
  if (hooks.onCompacted.length === 0 || compacted?.summary === undefined) return so;
  const { summary, tokensBefore, tokensAfter } = compacted;
  const subject = {
    summary,
    ...(tokensBefore === undefined ? {} : { tokensBefore }),
    ...(tokensAfter === undefined ? {} : { tokensAfter }),
  };
  return andThen(callHooks(notification("onCompacted", subject), work, cancellation), (asked) =>
    withRecords(state, so, asked),
  );
};

const callAfterStepStage: Stage = (state, so, work, cancellation) =>
  andThen(callAfterStep(work, cancellation), (asked) => (asked === null ? so : withRecords(state, so, asked)));

const callBeforeRun: Stage = (state, so, work, cancellation) => {
  const { run } = work.transcript;
  if (work.parts.hooks.beforeRun.length === 0 || state.modelCallIndex > 1 || state.attempt > 0 || run === null)
    return so;
  type Wanted = { readonly input: readonly UserMessage[]; readonly refuse?: string };
  const asking: HookCall<Wanted> = {
    point: "beforeRun",
    first: { input: run.input },
    show: ({ input }) => ({ input }),
    take(answer) {
      const given = oneOf(answer, ["input", "refuse"]);
      if (given?.key === "input")
        return { type: "changed", to: { input: messagesOf(given.value as Parameters<typeof messagesOf>[0]) } };
      const refuse = reasonIn(given?.value);
      if (refuse === undefined) return refused(answer, "{ input } or { refuse: reason }");
      return { type: "settled", to: { input: run.input, refuse } };
    },
  };
  return andThen(callHooks(asking, work, cancellation), (asked) => {
    const next = withRecords(state, so, asked);
    const { input, refuse } = asked.to;
    if (next.end === undefined && refuse !== undefined) return endingRun(state, next, "refused", refuse);
    return input === run.input ? next : { ...next, input };
  });
};

const callBeforeStep: Stage = (state, so, work, cancellation) => {
  if (work.parts.hooks.beforeStep.length === 0) return so;
  const { modelCallIndex, purpose } = state;
  return andThen(callHooks(notification("beforeStep", { modelCallIndex, purpose }), work, cancellation), (asked) =>
    withRecords(state, so, asked),
  );
};

const callBeforeModelCall: Stage = (state, so, work, cancellation) => {
  if (work.parts.hooks.beforeLLMCall.length === 0) return so;
  const asking: HookCall<Pick<Preparation, "systemPrompt" | "choices">> = {
    point: "beforeLLMCall",
    first: so,
    show: (chosen) => modelCallOf(state, chosen, so, work),
    take: (answer, chosen) => takeChoice(answer, chosen, work),
  };
  return andThen(callHooks(asking, work, cancellation), (asked) => {
    const { systemPrompt, choices } = asked.to;
    return { ...withRecords(state, so, asked), systemPrompt, choices };
  });
};

function modelCallOf(
  { modelCallIndex, purpose }: StepPreparing,
  { systemPrompt, choices }: Pick<Preparation, "systemPrompt" | "choices">,
  so: Pick<Preparation, "input" | "append">,
  { parts, transcript }: EffectContext,
): ModelCallSubject {
  const options = { ...transcript.run?.options, ...choices };
  const { activeTools = [...parts.tools.keys()], providerOptions } = options;
  const toolChoice = choices.toolChoice ?? toolChoiceAt(transcript.run?.options.toolChoice, modelCallIndex);
  // Frozen here: freezing all of it would look at every message, whether or not the hook does.
  return Object.freeze({
    modelCallIndex,
    purpose,
    activeTools: freeze(activeTools),
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
    ...(toolChoice === undefined ? {} : { toolChoice: freeze(toolChoice) }),
    ...(providerOptions === undefined ? {} : { providerOptions: freeze(providerOptions) }),
    get messages() {
      return freeze(messagesWith(so, transcript));
    },
  });
}

/** The conversation as it would be sent: with input that is still to be shown, and as the hooks before changed it. */
function messagesWith(
  { input, append }: Pick<Preparation, "input" | "append">,
  { messages, seqs, later, run }: Transcript,
) {
  const waiting = later.map(({ message }) => message);
  const kept = input === undefined ? messages : messages.filter((_, index) => seqs[index] !== run?.startSeq);
  return [...kept, ...(input ?? []), ...waiting, ...append];
}

type Chosen = Pick<Preparation, "systemPrompt" | "choices">;
const choosable = ["systemPrompt", "activeTools", "toolChoice", "providerOptions"];

function takeChoice(answer: unknown, { systemPrompt, choices }: Chosen, { parts }: EffectContext): HookVerdict<Chosen> {
  const allowed = "{ systemPrompt, activeTools, toolChoice, providerOptions }, any of them, with tools of the agent";
  const members = membersOf(answer, choosable);
  if (members === undefined) return refused(answer, allowed);
  const isTool = (name: unknown) => typeof name === "string" && parts.tools.has(name);
  let to: Chosen = { systemPrompt, choices };
  for (const [key, value] of Object.entries(members)) {
    if (value === undefined) continue;
    if (key === "systemPrompt" && typeof value === "string" && value.length <= longestPrompt)
      to = { ...to, systemPrompt: value };
    else if (key === "activeTools" && Array.isArray(value) && value.every(isTool))
      to = { ...to, choices: { ...to.choices, activeTools: [...new Set(value)] } };
    else if (key === "toolChoice" && isToolChoice(value, isTool))
      to = { ...to, choices: { ...to.choices, toolChoice: structuredClone(value) } };
    else if (key === "providerOptions" && isOptions(value))
      to = { ...to, choices: { ...to.choices, providerOptions: jsonIn(value, mostOptionBytes) as ProviderOptions } };
    else return { type: "refused", message: `What it returned for ${key} cannot be used; it may return ${allowed}.` };
  }
  return { type: "changed", to };
}

type ProviderOptions = NonNullable<RunOptions["providerOptions"]>;

const longestPrompt = 900_000;
const mostOptionBytes = 64 * 1024;

function isToolChoice(value: unknown, isTool: (name: unknown) => boolean): value is ToolChoice {
  if (value === "auto" || value === "none" || value === "required") return true;
  const given = oneOf(value, ["tool"]);
  return given !== undefined && isTool(given.value);
}

function isOptions(value: unknown): boolean {
  const isRecord = (one: unknown) => typeof one === "object" && one !== null && !Array.isArray(one);
  return isRecord(value) && Object.values(value as object).every(isRecord);
}

/** Tells the hooks of the last step, once; null where there is nothing to tell. */
export function callAfterStep(
  work: EffectContext,
  cancellation: Cancellation,
): HookCallResult<undefined> | null | Promise<HookCallResult<undefined>> {
  const { run } = work.transcript;
  if (work.parts.hooks.afterStep.length === 0 || run === null || run.leftSteps >= run.steps) return null;
  return callHooks(notification("afterStep", lastStepOf(work)), work, cancellation);
}

function lastStepOf({ state, transcript }: EffectContext): StepResultSubject {
  return {
    modelCallIndex: state.status === "idle" ? 0 : state.counters.totalSteps,
    text: transcript.run?.answer ?? "",
    calls: [...transcript.calls.values()].flatMap(({ callKey, part, input, result }) =>
      result === undefined ? [] : [{ callKey, name: part.name, input, outcome: result.outcome, output: result.output }],
    ),
  };
}

export function notification(point: HookCall<undefined>["point"], subject: object): HookCall<undefined> {
  return { point, first: undefined, show: () => subject, take: refuseAnyReturn };
}

function withRecords(
  state: StepPreparing,
  so: Preparation,
  { records, failure }: HookCallResult<unknown>,
): Preparation {
  const next = { ...so, records: [...so.records, ...records] };
  return failure === undefined ? next : endingRun(state, next, "hook_failed", failure);
}

function endingRun(
  { runId, modelCallIndex }: StepPreparing,
  so: Preparation,
  reason: "refused" | "hook_failed",
  message: string,
): Preparation {
  const fault = { code: reason, message, retryable: false };
  return { ...so, end: { type: "run_finished", runId, modelCallIndex, reason, fault, ...hookRecords(so.records) } };
}

/** The records of hooks, where there are any. The log keeps them, and a list that has grown keeps room for sixteen more. */
export function hookRecords(hooks: readonly HookRecord[]): { readonly hooks?: readonly HookRecord[] } {
  return hooks.length === 0 ? {} : { hooks: hooks.slice() };
}
