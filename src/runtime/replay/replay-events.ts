/**
 * Computes the event that the current code would record instead of an entry of a log. Nothing outside is called: the model answers from the
 * recording, and tools only record that they would have run.
 *
 * 1. Events that were caused by people, time, crashes, hooks and other programs are taken from the recording.
 * 2. The outputs of models and tools are also taken from the recording. The current code decides whether it would call them, and what
 *    follows from their outputs.
 * 3. Everything else (preparing, deciding, reacting to a failure, ending a run) is computed again.
 */
import { defined } from "../../core/data/defined.js";
import type { Event, EventBody, EventOf } from "../../core/machine/event.js";
import type { ReservedEventType } from "../../core/machine/reserved-events.js";
import { type Call, callOf, type State } from "../../core/machine/state.js";
import { isFunctionCondition } from "../../core/machine/stop-condition.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import type { Clock } from "../../ports/clock.js";
import type { ContextSource } from "../../ports/context.js";
import type { Model } from "../../ports/model.js";
import type { CanExecuteTool, Permission } from "../../ports/permission.js";
import type { Store } from "../../ports/store.js";
import type { AnyTool } from "../../ports/tool.js";
import { compileHooks } from "../agent/compile-hooks.js";
import { type CompiledAgent, getSessionAgent } from "../agent/compiled-agent.js";
import { perform } from "../effects/perform.js";
import { defaultToolTimeoutMs } from "../effects/tool-timeout.js";
import { createCancellation } from "../lib/cancellation.js";
import type { CalledModel } from "../model/models.js";
import type { CompiledTool } from "../tools/compile-tools.js";
import { attachChanges } from "../work/data-changes.js";
import {
  createProcessMemory,
  type EffectContext,
  type EffectOf,
  openRunMemory,
  type Recorder,
} from "../work/effect-context.js";
import { restoreSources } from "../work/loaded-sources.js";
import { readPromptBlob } from "../work/prompt-blobs.js";
import { restoreParams } from "../work/run-params.js";
import { restoreRunPrompt } from "../work/run-prompt.js";
import { canBeReplayed, splitRequests } from "./recorded-attempts.js";
import { isOfRunAlone, type Recorded, withRecordedTools } from "./recorded-tools.js";

export type EventReplayOptions = {
  readonly sessionId: string;
  readonly agent: CompiledAgent;
  /** A scratch store, which receives the messages that the current code would post to other sessions. */
  readonly store: Store;
  /** Whether `canExecuteTool` is called again, or its recorded decisions are used. */
  readonly policy: "present" | "recorded";
  /** Whether durable tools run again, with their recorded steps. */
  readonly durable: "present" | "recorded";
  /** A model that answers instead of the recording. */
  readonly model?: Model;
};

export type EventReplay = {
  /** The event that the current code creates instead of this one; undefined if the recorded event is used. */
  readonly recomputeEvent: (event: Event, state: State, transcript: Transcript) => Promise<EventBody | undefined>;
};

export function createEventReplay({
  sessionId,
  agent,
  store,
  policy,
  durable,
  model,
}: EventReplayOptions): EventReplay {
  const resetMemory = () => createProcessMemory(sessionId, agent.store, "replay");
  /** Reads what the session stored, for example the large values of tool steps. Nothing is written to its store. */
  const readable: Store = {
    ...store,
    getBlob: async (id, hash) => (await store.getBlob(id, hash)) ?? agent.store.getBlob(id, hash),
  };
  let memory = resetMemory();
  let now = 0;
  let wasToolReached = false;
  const clock: Clock = { now: () => now, elapsed: () => now, after: () => () => {} };
  const shouldRunAgain = ({ tool }: CompiledTool) => durable === "present" && tool.durable === true;
  const getTools = cacheTools((tool) => (shouldRunAgain(tool) ? tool : wrapTool(tool, () => (wasToolReached = true))));
  /** A durable tool that runs again may wait for a timer, and may be stuck. */
  const waitingClock: Clock = { ...clock, after: agent.clock.after };

  async function performEffect(
    effect: ActiveEffect,
    state: State,
    transcript: Transcript,
    changes: Partial<CompiledAgent> = {},
    recorded: Recorded | null = null,
  ) {
    // A replay recalls the results of tools and models itself.
    const {
      runTool: _,
      runModel: __,
      ...own
    } = (recorded ?? (await withRecorded(getSessionAgent(agent, state), transcript))).own;
    const tools = getTools(own);
    const context = { ...own.context, sources: own.context.sources.map(withoutLoading) };
    const present: CompiledAgent = {
      ...own,
      store: readable,
      clock,
      tools,
      hooks: noHooks,
      context,
      listeners: [],
      isReplay: true,
      ...changes,
    };
    const work: EffectContext = {
      sessionId,
      agent: present,
      state,
      transcript,
      memory,
      runMemory: openRunMemory(memory, transcript.run?.runId ?? null),
      now: clock.now,
      hold: { isFresh: () => true, refresh: async () => true },
      recorder: replayRecorder,
      subscribers: { sessionId, agent: present, subscriptions: [] },
    };
    wasToolReached = false;
    const made = await perform(effect, work, createCancellation());
    if (wasToolReached) return undefined;
    return made?.type === "tool_finished" ? attachChanges(made, work) : made;
  }

  const withRecorded = (own: CompiledAgent, transcript: Transcript, named = transcript.toolsHash) =>
    withRecordedTools(own, transcript.run, (hash) => readPromptBlob(sessionId, hash, agent.store), named);

  async function callAgain(event: EventOf<"model_finished" | "model_failed">, state: State, transcript: Transcript) {
    if (model === undefined && !canBeReplayed(event)) return undefined;
    const { runId, modelCallIndex, attempt, timing } = event;
    now = timing.startedAt;
    const requests = [...splitRequests(event)];
    const recorded: Model = {
      id: event.model,
      takesDeferredTools: model?.takesDeferredTools ?? true,
      async *stream(request, signal) {
        now = timing.startedAt + timing.durationMs;
        yield* model === undefined ? (requests.shift() ?? []) : model.stream(request, signal);
      },
    };
    const withRecordedModel = (one: CalledModel): CalledModel => ({ ...one, model: recorded });
    const [first, ...others] = getSessionAgent(agent, state).models;
    const effect = { type: "call_model", key: "replay", runId, modelCallIndex, attempt } as const;
    const named = new Map([...agent.named].map(([name, one]) => [name, withRecordedModel(one)]));
    return performEffect(effect, state, transcript, {
      models: [withRecordedModel(first), ...others.map(withRecordedModel)],
      named,
    });
  }

  function decideAgain({ runId, callKey, decision }: EventOf<"tool_decided">, state: State, transcript: Transcript) {
    const permissions = policy === "recorded" ? { canExecuteTool: recordedPolicy(decision, now) } : {};
    return performEffect({ type: "decide", key: "replay", runId, callKey }, state, transcript, permissions);
  }

  function createCallEffect(
    type: "run_tool" | "reconcile",
    event: { readonly runId: string },
    call: Call,
  ): EffectOf<typeof type> {
    const attempt = "attempt" in call ? call.attempt : 1;
    return { type, key: "replay", runId: event.runId, callKey: call.callKey, attempt };
  }

  /** Also for an entry that is not computed again: later calls of the run have the same texts and params. */
  async function restoreFromEvent(event: EventOf<"prepared">, state: State): Promise<void> {
    const { name, context } = getSessionAgent(agent, state);
    const runMemory = openRunMemory(memory, event.runId);
    if (event.sources !== undefined && context.sources.length > 0)
      await restoreSources(name, event, { memory, runMemory });
    await restoreRunPrompt(name, event, { memory, runMemory });
    restoreParams(event, runMemory);
  }

  async function prepareAgain(event: EventOf<"prepared">, state: State, transcript: Transcript) {
    const { runId, contextSeq } = event;
    // How many entries the preparation had seen depends on timing, so the recorded number is used.
    const named = event.toolsHash === undefined ? transcript.toolsHash : event.toolsHash;
    const recorded = await withRecorded(getSessionAgent(agent, state), transcript, named);
    const effect = { type: "prepare", key: "replay", runId } as const;
    const made = await performEffect(effect, { ...state, seq: contextSeq }, transcript, {}, recorded);
    if (made?.type !== "prepared") return made;
    return copyCacheFields(event, recorded.isWhole ? made : withToolsOf(event, made));
  }

  async function callToolAgain(
    event: EventOf<"tool_decided" | "tool_waiting" | "tool_failed" | "tool_finished">,
    state: State,
    transcript: Transcript,
  ): Promise<EventBody | undefined> {
    const call = callOf(state, event.callKey);
    if (call?.status === "reconciling")
      return performEffect(createCallEffect("reconcile", event, call), state, transcript);
    if (event.type === "tool_decided" && event.decision.repair?.by === "custom") return undefined;
    // The log does not show what a tool of a single run does, or whether it asks.
    if (isOfRunAlone(event, getSessionAgent(agent, state), transcript)) return undefined;
    if (event.type === "tool_decided") return decideAgain(event, state, transcript);
    // A result without an attempt came from another program.
    const isOurs = call?.status === "running" && (event.type !== "tool_finished" || event.attempt !== undefined);
    const compiled = call === undefined ? undefined : getSessionAgent(agent, state).tools.get(call.name);
    if (compiled !== undefined && shouldRunAgain(compiled) && wasCutOff(event, state, compiled)) return undefined;
    const realClock = { clock: waitingClock };
    return isOurs ? performEffect(createCallEffect("run_tool", event, call), state, transcript, realClock) : undefined;
  }

  async function recomputeEvent(event: Event, state: State, transcript: Transcript): Promise<EventBody | undefined> {
    now = event.at;
    if (event.type === "prepared") await restoreFromEvent(event, state);
    if (event.hooks !== undefined) return undefined;
    switch (event.type) {
      case "restarted":
        memory = resetMemory();
        return undefined;
      case "compaction_started":
        return performEffect({ type: "prepare", key: "replay", runId: event.runId ?? "" }, state, transcript);
      case "prepared":
        return prepareAgain(event, state, transcript);
      case "model_finished":
      case "model_failed":
        return callAgain(event, state, transcript);
      case "tool_decided":
      case "tool_waiting":
      case "tool_failed":
      case "tool_finished":
        return callToolAgain(event, state, transcript);
      case "handed_off":
        return performEffect({ type: "hand_over", key: "replay", runId: event.runId }, state, transcript);
      case "steered":
        return event.source === "user" || state.status === "idle"
          ? undefined
          : performEffect({ type: "finish", key: "replay", runId: state.runId }, state, transcript);
      case "run_finished": {
        if (event.condition !== undefined && isFunctionCondition(event.condition)) return undefined;
        const type = state.status === "preparing" && state.for === "finish" ? "finish" : "prepare";
        return performEffect({ type, key: "replay", runId: event.runId }, state, transcript);
      }
      case "session_created":
      case "history_added":
      case "data_changed":
      case "session_changed":
      case "content_redacted":
      case "run_started":
      case "run_queued":
      case "compaction_requested":
      case "compacted":
      case "timer_fired":
      case "answered":
      case "abort_requested":
      case "late_result":
      case "after_run_hooks_called":
      case "parent_notified":
      case "parent_told":
      case "child_waiting":
      case "migrated":
      case "tool_step_started":
      case "tool_step_finished":
      case "tool_asked":
        return undefined;
      default:
        event satisfies EventOf<ReservedEventType>;
        return undefined;
    }
  }

  return { recomputeEvent };
}

/** A person, a limit or a timer ended the call midway: how far the tool got does not follow from its code. */
function wasCutOff(event: Event, state: State, { tool }: CompiledTool): boolean {
  if ("stopping" in state && state.stopping !== null) return true;
  if (event.type !== "tool_finished" && event.type !== "tool_failed") return false;
  return (event.timing?.durationMs ?? 0) >= (tool.timeoutMs ?? defaultToolTimeoutMs);
}

/** Loads nothing: the texts are taken from the recording. */
function withoutLoading({ name }: ContextSource): ContextSource {
  return { name, load: () => [] };
}

/** The log does not have the schemas of tools that were deferred, or that the process did not have. */
function withToolsOf({ toolsHash }: EventOf<"prepared">, made: Prepared): Prepared {
  const { toolsHash: _, ...rest } = made;
  return { ...rest, ...defined({ toolsHash }) };
}

/** Takes fields that only affect the cost of a provider's cache from the recording. They do not change the answer. */
function copyCacheFields({ promptCache, summaryKeepsTools }: EventOf<"prepared">, made: Prepared): Prepared {
  const { promptCache: _, summaryKeepsTools: __, ...rest } = made;
  return { ...rest, ...defined({ promptCache, summaryKeepsTools }) };
}

type Prepared = Extract<EventBody, { type: "prepared" }>;

/** An effect that is performed, rather than only awaited. */
type ActiveEffect = Parameters<typeof perform>[0];

const noHooks = compileHooks([]);

/** The tools of each agent, in the form in which a replay calls them. */
function cacheTools(of: (tool: CompiledTool) => CompiledTool): (agent: CompiledAgent) => CompiledAgent["tools"] {
  const known = new Map<CompiledAgent["tools"], CompiledAgent["tools"]>();
  return ({ tools }) => {
    const found = known.get(tools) ?? new Map([...tools].map(([name, tool]) => [name, of(tool)]));
    known.set(tools, found);
    return found;
  };
}

/** A replay writes nothing. */
const replayRecorder: Recorder = {
  isReplay: true,
  record: async () => "closed",
  isLost: () => false,
  isDriving: () => true,
  committing: () => null,
  isReleased: () => false,
  isDraining: () => false,
  onDraining: () => () => {},
  detachJob: () => {},
};

/** Replaces a tool with one that calls `note` instead of running. */
function wrapTool(compiled: CompiledTool, note: () => void): CompiledTool {
  const { toModelOutput: _, ...tool } = compiled.tool;
  const noted: AnyTool = {
    ...tool,
    ...(tool.execute === undefined ? {} : { execute: note }),
    ...(tool.executeRaw === undefined ? {} : { executeRaw: note }),
    ...(typeof tool.recover !== "object" ? {} : { recover: { reconcile: () => reportUnknown(note) } }),
  };
  return { ...compiled, tool: noted };
}

async function reportUnknown(note: () => void) {
  note();
  return { status: "unknown" } as const;
}

/** A policy that repeats a recorded decision. A call that was refused for another reason had passed the policy. */
function recordedPolicy(decision: EventOf<"tool_decided">["decision"], now: number): CanExecuteTool {
  return (): Permission => {
    switch (decision.verdict) {
      case "allow":
      case "block":
      case "reject":
        return "allow";
      case "ask":
        return {
          verdict: "ask",
          ...(decision.question === undefined ? {} : { question: decision.question }),
          ...(decision.expiresAt === undefined ? {} : { expiresInMs: Math.max(0, decision.expiresAt - now) }),
        };
      case "deny":
        return {
          verdict: "deny",
          reason: decision.reason,
          ...(decision.stopRun === undefined ? {} : { stopRun: decision.stopRun }),
        };
    }
  };
}
