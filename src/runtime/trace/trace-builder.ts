/**
 * Builds a trace from committed entries, one after another (TRC-1).
 *
 * 1. A record contains only data from the log, so a trace that is built later equals the live trace.
 * 2. All text is redacted before it goes into a record (TRC-2).
 * 3. The record of a step is created when the next step, a compaction or the end of the run begins, so that it is complete.
 */

import { parseCallKey } from "../../core/data/call-key.js";
import { defined } from "../../core/data/defined.js";
import { textOf, type UserMessage } from "../../core/data/message.js";
import type { ModelSettings } from "../../core/data/model-settings.js";
import { parseTraceparent, traceparentOf } from "../../core/data/traceparent.js";
import type { Event, EventOf } from "../../core/machine/event.js";
import type { Purpose, SessionInfo, State, Status } from "../../core/machine/state.js";
import type { SentFrom } from "../../core/transcript/run-record.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import type {
  LoopTrace,
  TracedAttempt,
  TracedHook,
  TracedSource,
  TraceRecord,
  TraceRecordOf,
} from "../../ports/trace.js";
import { createTraceId, getTraceId } from "../lib/trace-ids.js";
import type { CommittedEntry, SentCall } from "../log/committed-entry.js";
import type { Redact } from "../observers/redact.js";
import { pickUsage, traceFailedAttempt, traceFinishedAttempt } from "./traced-attempts.js";
import {
  addCallEvent,
  addCallEvents,
  addToolStep,
  createContentWriter,
  type OpenCalls,
  toTracedCalls,
} from "./traced-calls.js";
import { traceHooks } from "./traced-hooks.js";

export type TraceBuilderOptions = {
  readonly sessionId: string;
  /** Must not throw: see `createGuardedRedact`. */
  readonly redact: Redact;
  /** Whether the records contain the texts of models, and the inputs and outputs of tools. */
  readonly content: boolean;
};

export type TraceBuilder = {
  /** Adds the next entry, and returns the records that it completes. */
  readonly add: (step: CommittedEntry) => readonly TraceRecord[];
  /** The records of the current run or, if there is none, of the last run. */
  readonly runRecords: () => LoopTrace;
  /** The record of the unfinished step as of a time; null if there is none. */
  readonly underWay: (now: number) => TraceRecordOf<"step"> | null;
};

const inputCharacters = 200;

type OpenRun = {
  readonly runId: string;
  /** Null until an entry of the run has been seen. */
  traceId: string | null;
  readonly startedAt: number;
  restarts: number;
  readonly hooks: TracedHook[];
  /** The changes of state before the first step. */
  readonly states: StateChange[];
};
type StateChange = TraceRecordOf<"step">["states"][number];
type OpenStep = {
  readonly modelCallIndex: number;
  readonly purpose: Purpose;
  readonly messages: number;
  reused: TraceRecordOf<"step">["reused"];
  readonly promptCache?: "1h" | "off";
  readonly settings?: ModelSettings;
  readonly sources?: readonly TracedSource[];
  readonly contextSeq: number;
  readonly startedAt: number;
  endedAt: number;
  readonly attempts: TracedAttempt[];
  readonly calls: OpenCalls;
  readonly hooks: TracedHook[];
  readonly states: StateChange[];
};

/** @param startedRun the run in which the entries begin; null if they begin before a run */
export function createTraceBuilder(
  { sessionId, redact, content }: TraceBuilderOptions,
  startedRun: { readonly runId: string; readonly startedAt: number } | null = null,
): TraceBuilder {
  const writer = content ? createContentWriter(redact) : null;
  let run: OpenRun | null =
    startedRun === null ? null : { ...startedRun, traceId: null, restarts: 0, hooks: [], states: [] };
  let step: OpenStep | null = null;
  let finishing = false;
  /** The last model call of the run. */
  let last: SentCall | null = null;
  let records: TraceRecord[] = [];

  const identify = (runId: string) => {
    const own = run?.runId === runId ? run.traceId : null;
    return { sessionId, runId, traceId: own ?? createTraceId(sessionId, runId) };
  };

  function addRecord(record: TraceRecord): void {
    records.push(record);
  }

  function beginRun(
    event: PublicEvent & { readonly type: "run_started" },
    { session }: State,
    asked: SentFrom | null,
  ): void {
    const { runId, at, input } = event;
    run = {
      runId,
      traceId: getTraceId(sessionId, runId, asked?.traceparent),
      startedAt: at,
      restarts: 0,
      hooks: [],
      states: [],
    };
    step = null;
    last = null;
    finishing = false;
    records = [];
    const parent = session?.parent === undefined ? {} : { parent: attachTrace(session.parent) };
    const beginning = redact(formatInput(input)).slice(0, inputCharacters);
    const span = parseTraceparent(asked?.traceparent);
    const principal = asked?.by ?? session?.principal;
    addRecord({
      type: "run_started",
      ...identify(runId),
      at,
      agent: session?.agent ?? "",
      input: beginning,
      ...defined({ principal: principal === undefined ? undefined : redact(principal) }),
      ...(span === undefined ? {} : { traceparent: traceparentOf(span) }),
      ...parent,
    });
  }

  function endStep(): void {
    if (run === null || step === null) return;
    const { calls, ...rest } = step;
    addRecord({ type: "step", ...identify(run.runId), ...toSpan(rest), calls: toTracedCalls(calls) });
    step = null;
  }

  function underWay(now: number): TraceRecordOf<"step"> | null {
    if (run === null || step === null) return null;
    const { calls, attempts, hooks, states, ...rest } = step;
    const soFar = { attempts: [...attempts], hooks: [...hooks], states: [...states], calls: toTracedCalls(calls, now) };
    return { type: "step", ...identify(run.runId), underWay: true, ...toSpan({ ...rest, endedAt: now }), ...soFar };
  }

  function beginStep(event: EventOf<"prepared">, sent: SentCall | null, hooks: readonly TracedHook[]): void {
    const reused = compareRequests(event, sent, last);
    last = sent;
    if (run === null || step?.modelCallIndex === event.modelCallIndex) return;
    endStep();
    const { modelCallIndex, purpose, contextSeq, at } = event;
    const startedAt = Math.min(at, ...hooks.map((hook) => hook.startedAt));
    const states = run.states.splice(0);
    const empty = { attempts: [], calls: new Map(), hooks: [], states };
    const messages = sent?.messages ?? 0;
    const { promptCache } = event;
    const chosen = { ...pickSettings(sent, redact), ...pickSources(event, redact), ...defined({ promptCache }) };
    step = { modelCallIndex, purpose, messages, reused, ...chosen, contextSeq, startedAt, endedAt: at, ...empty };
  }

  function addCompaction(event: EventOf<"compacted">, after: State, hooks: readonly TracedHook[]): void {
    // A compaction before another attempt of the same model call does not end its step.
    if (!("modelCallIndex" in after) || after.modelCallIndex !== step?.modelCallIndex) endStep();
    const { runId, at, tokensBefore, tokensAfter, usage, fault } = event;
    addRecord({
      type: "compaction",
      ...identify(runId ?? run?.runId ?? ""),
      at,
      ...(tokensBefore === undefined ? {} : { tokensBefore }),
      ...(tokensAfter === undefined ? {} : { tokensAfter }),
      ...pickUsage(usage),
      ...(fault === undefined ? {} : { fault: fault.code }),
      hooks,
    });
  }

  /** Ends the step. Its record includes the hooks that were called before the handoff. */
  function addHandoff({ runId, callKey, from, to, at, messages }: EventOf<"handed_off">, shown: number): void {
    endStep();
    addRecord({
      type: "handoff",
      ...identify(runId),
      at,
      callKey,
      from,
      to,
      ...(messages === undefined ? {} : { messages: shown }),
    });
  }

  function endRun({ result, runId, at }: PublicEvent & { readonly type: "final" }): void {
    if (run === null || run.runId !== runId || !("reason" in result) || result.status === "interrupted") return;
    endStep();
    const { startedAt, restarts, hooks } = run;
    const { status, reason, usage, steps } = result;
    const fault = status === "failed" && result.error !== undefined ? { fault: result.error.code } : {};
    const stopped =
      status === "completed" && result.condition !== undefined ? { condition: redact(result.condition) } : {};
    const span = { startedAt, durationMs: Math.max(0, at - startedAt) };
    addRecord({
      type: "run_finished",
      ...identify(runId),
      ...span,
      status,
      reason,
      ...stopped,
      ...fault,
      usage,
      steps,
      restarts,
      hooks,
    });
    run = null;
  }

  /** Some cache breaks are visible only in the provider's usage report. */
  function recordCache(events: readonly PublicEvent[]): void {
    const broke = events.find((one) => one.type === "step_finished")?.cache?.broke;
    if (step !== null && broke !== undefined) step.reused = { ...step.reused, broke };
  }

  function applyEntry({ entry: { event }, events, after, sent }: CommittedEntry, hooks: readonly TracedHook[]): void {
    switch (event.type) {
      case "restarted":
        if (run !== null) run.restarts += 1;
        break;
      case "prepared":
        beginStep(event, sent, hooks);
        break;
      case "compacted":
        addCompaction(event, after, hooks);
        break;
      case "model_finished":
        step?.attempts.push(traceFinishedAttempt(event, redact, writer));
        recordCache(events);
        break;
      case "model_failed":
        step?.attempts.push(traceFailedAttempt(event, redact, writer));
        break;
      case "tool_step_finished":
        if (step !== null) addToolStep(step.calls, event, redact, writer);
        break;
      case "tool_waiting":
      case "tool_failed":
      case "tool_finished":
        if (step !== null) addCallEvent(step.calls, event, redact);
        break;
      case "run_finished":
        finishing = true;
        break;
      default:
        break;
    }
  }

  /**
   * Adds hooks to their step or run. An `afterStep` hook belongs to the previous step, but is recorded with the next
   * event.
   */
  function addHooks(event: Event, hooks: readonly TracedHook[], previous: OpenStep | null): void {
    if (event.type === "compacted") return;
    for (const hook of hooks) {
      const owner = event.type === "prepared" && hook.hook === "afterStep" && previous !== null ? previous : step;
      if (finishing || owner === null) run?.hooks.push(hook);
      else owner.hooks.push(hook);
    }
  }

  function recordState(at: number, from: Status, to: Status): void {
    if (from !== to) (step ?? run)?.states.push({ at, from, to });
  }

  function add(committed: CommittedEntry): readonly TraceRecord[] {
    const { entry, events, before, after, asked } = committed;
    const { event } = entry;
    const started = events.find((one) => one.type === "run_started");
    const firstNew = started === undefined ? records.length : 0;
    if (started !== undefined) beginRun(started, after, asked);
    else if (run?.traceId === null) run.traceId = getTraceId(sessionId, run.runId, asked?.traceparent);
    const hooks = traceHooks(event, redact);
    const previous = step;
    applyEntry(committed, hooks);
    addHooks(event, hooks, previous);
    if (step !== null) {
      addCallEvents(step.calls, events, writer, redact);
      if (!finishing) step.endedAt = Math.max(step.endedAt, event.at);
    }
    if (event.type === "handed_off") addHandoff(event, committed.shown);
    recordState(event.at, before.status, after.status);
    for (const one of events) if (one.type === "final") endRun(one);
    return records.slice(firstNew);
  }

  return { add, runRecords: () => [...records], underWay };
}

/** For the first call of a run, the prompt and the tools are those of the previous call unless the entry names others. */
function compareRequests(event: EventOf<"prepared">, sent: SentCall | null, last: SentCall | null): OpenStep["reused"] {
  if (sent === null) return { messages: 0, prompt: false, tools: false };
  if (last === null && sent.reused === 0) {
    const broke = sent.broke === null ? {} : { broke: sent.broke };
    return { messages: 0, prompt: false, tools: false, ...broke };
  }
  const isSame = (hash: "promptHash" | "toolsHash") =>
    last === null ? event[hash] === undefined : sent[hash] === last[hash];
  return {
    messages: sent.reused,
    prompt: isSame("promptHash"),
    tools: isSame("toolsHash") && sent.sameChoice,
    ...(sent.expected === null ? {} : { expected: sent.expected }),
    ...(sent.broke === null ? {} : { broke: sent.broke }),
  };
}

function pickSettings(sent: SentCall | null, redact: Redact): Pick<OpenStep, "settings"> {
  if (sent === null || sent.settings === null) return {};
  const { stopSequences, ...settings } = sent.settings;
  return {
    settings: stopSequences === undefined ? settings : { ...settings, stopSequences: stopSequences.map(redact) },
  };
}

function pickSources({ sources }: EventOf<"prepared">, redact: Redact): Pick<OpenStep, "sources"> {
  if (sources === undefined || sources.length === 0) return {};
  return { sources: sources.map(({ name, path, bytes, trust }) => ({ name, path: redact(path), bytes, trust })) };
}

function toSpan<Open extends { readonly startedAt: number; readonly endedAt: number }>({ endedAt, ...open }: Open) {
  return { ...open, durationMs: Math.max(0, endedAt - open.startedAt) };
}

function attachTrace({ sessionId, callKey, traceId }: NonNullable<SessionInfo["parent"]>) {
  return { sessionId, callKey, traceId: traceId ?? createTraceId(sessionId, parseCallKey(callKey).runId) };
}

function formatInput(input: readonly UserMessage[]): string {
  return input.map(textOf).join("\n");
}
