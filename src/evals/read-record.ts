/**
 * Reads the log of a session and its child sessions, to make a case from it or to judge a trial. Nothing runs, and the session is
 * not changed.
 *
 * 1. The record of a case ends before the first run that is still open or was aborted by a person, because such a run cannot be
 *    played to its end.
 * 2. A call belongs to the agent that had the session when the call was made, also after a handoff.
 */
import { defined } from "../core/data/defined.js";
import { canonicalJson } from "../core/data/json.js";
import type { Json, Message, UserMessage } from "../core/data/message.js";
import type { DataPatch } from "../core/data/session-data.js";
import type { Entry, RunOptions } from "../core/machine/event.js";
import type { PublicEvent } from "../core/view/public-event.js";
import type { DeltaBody, JsonSchema, ToolSpecification } from "../ports/model.js";
import type { UsageService } from "../ports/services.js";
import type { Store } from "../ports/store.js";
import { createClient } from "../runtime/api/client.js";
import { readEntries } from "../runtime/log/read-entries.js";
import { recordedAttempts } from "../runtime/replay/recorded-attempts.js";
import { parseSpecifications, readPromptBlob } from "../runtime/work/prompt-blobs.js";
import type { AskedCall, CaseLabel, Ending, RecordedAnswer, RecordedArrival, RecordedCall, Turn } from "./case.js";
import { inlineMessages, inlineOutput } from "./inline-content.js";
import { fillDefaults, findLabel, mergePatches, withoutLabel } from "./record-values.js";

/** One session of a record. */
export type ReadSession = {
  readonly agent: string;
  readonly request: string;
  readonly steps: readonly (readonly DeltaBody[])[];
  readonly arrivals: readonly RecordedArrival[];
  /** The entries of the record, starting with entry 1. */
  readonly entries: readonly Entry[];
};

export type SessionRecord = {
  /** The session itself, then its child sessions. */
  readonly sessions: readonly ReadSession[];
  readonly history: readonly Message[];
  readonly turns: readonly Turn[];
  readonly answers: readonly RecordedAnswer[];
  readonly results: readonly RecordedCall[];
  /** Undefined if no run of the record has ended. */
  readonly ending: Ending | undefined;
  readonly label: CaseLabel | undefined;
  /** The tools that each agent was offered last, by the agent's name. */
  readonly offered: ReadonlyMap<string, readonly ToolSpecification[]>;
  /** The model of the last step of the session itself. */
  readonly model: string;
  /** The last entry of the record. */
  readonly seq: number;
  readonly startedAt: number;
  /** True if the log continues after the record, with a run that a person aborted or that is still open. */
  readonly isCut: boolean;
};

/**
 * @param usage prices calls whose agent had no price for them
 * @param scope `playable`: up to the first run that cannot be played to its end; `all`: the whole log, as for a trial
 */
export async function readRecord(
  store: Store,
  sessionId: string,
  usage: UsageService,
  scope: "playable" | "all",
): Promise<SessionRecord> {
  const reading = createReading(store, usage, scope === "playable");
  await readSession(reading, sessionId, true);
  const { sessions, calls, hooks, used, ending } = reading;
  return {
    ...reading,
    ending:
      ending === undefined
        ? undefined
        : {
            ...ending,
            calls,
            hooks: [...hooks].sort(),
            steps: used.steps,
            inputTokens: used.input,
            outputTokens: used.output,
            ...(used.isPriced ? { costUsd: used.costUsd } : {}),
          },
    seq: sessions[0]?.entries.length ?? 0,
  };
}

type Reading = ReturnType<typeof createReading>;

function createReading(store: Store, usage: UsageService, isPlayable: boolean) {
  return {
    store,
    usage,
    isPlayable,
    sessions: [] as ReadSession[],
    history: [] as Message[],
    turns: [] as Turn[],
    answers: [] as RecordedAnswer[],
    results: [] as RecordedCall[],
    calls: [] as AskedCall[],
    hooks: new Set<string>(),
    used: { steps: 0, input: 0, output: 0, costUsd: 0, isPriced: true },
    offered: new Map<string, readonly ToolSpecification[]>(),
    ending: undefined as Pick<Ending, "status" | "reason" | "error" | "text" | "output"> | undefined,
    label: undefined as CaseLabel | undefined,
    model: "",
    startedAt: 0,
    isCut: false,
  };
}

/** The state of reading one session. */
type SessionReading = {
  readonly sessionId: string;
  readonly isTop: boolean;
  readonly entries: readonly Entry[];
  readonly schemas: Map<string, JsonSchema>;
  readonly open: Map<string, OpenCall>;
  /** Each call's changes to the session's data. */
  readonly patches: Map<string, DataPatch>;
  agent: string;
};

type OpenCall = {
  readonly name: string;
  input: Json;
  /** Its index among all calls of the record. */
  readonly index: number;
  asked?: true;
  isChild?: true;
};

async function readSession(reading: Reading, sessionId: string, isTop: boolean): Promise<void> {
  const { store, sessions } = reading;
  const all: Entry[] = [];
  for await (const entry of readEntries(store, sessionId, 0)) all.push(entry);
  const last = isTop && reading.isPlayable ? findLastPlayable(all) : all.length;
  const entries = all.slice(0, last);
  if (isTop) {
    reading.isCut = last < all.length;
    // A label may be set after the record ends.
    reading.label = findLabel(all);
    reading.startedAt = entries[0]?.event.at ?? 0;
  }
  const steps = recordedAttempts(sessionId, entries).filter(({ deltas }) => deltas.at(-1)?.kind === "done");
  const index = sessions.length;
  const first = entries[0]?.event;
  const agent = first?.type === "session_created" ? first.agent : "";
  // Reserves the index: child sessions are appended while this session is read.
  sessions.push({ agent, request: "", steps: [], arrivals: [], entries });
  const session: SessionReading = {
    sessionId,
    isTop,
    entries,
    schemas: new Map(),
    open: new Map(),
    patches: new Map(),
    agent,
  };
  const { request, arrivals } = await collectFromEntries(reading, session);
  sessions[index] = { agent, request, steps: steps.map(({ deltas }) => deltas), arrivals, entries };
  session.agent = agent;
  const events = createClient({ store }).session(sessionId).events({ follow: false });
  for await (const event of events) {
    if (!("index" in event)) continue;
    if (event.seq > last) break;
    await readEvent(reading, session, event);
  }
}

/** The last entry before the first run that cannot be played to its end. */
function findLastPlayable(entries: readonly Entry[]): number {
  const ended = new Set(entries.flatMap(({ event }) => (event.type === "run_finished" ? [event.runId] : [])));
  const aborted = new Set(entries.flatMap(({ event }) => (event.type === "abort_requested" ? [event.runId] : [])));
  for (const { seq, event } of entries)
    if (event.type === "run_started" && (!ended.has(event.runId) || aborted.has(event.runId))) return seq - 1;
  return entries.length;
}

/** Records the tools that the model is offered from this entry on. */
async function readTools({ store, offered }: Reading, session: SessionReading, hash: string): Promise<void> {
  const text = await readPromptBlob(session.sessionId, hash, store);
  const tools = text === null ? [] : parseSpecifications(text);
  for (const { name, inputSchema } of tools) session.schemas.set(name, inputSchema);
  offered.set(session.agent, tools);
}

/** Reads the data that only entries contain: requests with their options, arrivals, tools, hooks and session data. */
async function collectFromEntries(reading: Reading, session: SessionReading) {
  const { store, turns, history, hooks } = reading;
  const { sessionId, isTop, entries } = session;
  const arrivals: RecordedArrival[] = [];
  const prepared = new Set<string>();
  let patches: DataPatch[] = [];
  let openRun: string | null = null;
  let request = "";
  for (const { event } of entries) {
    if ("callKey" in event && event.callKey !== undefined && "data" in event && event.data !== undefined)
      session.patches.set(event.callKey, mergePatches(session.patches.get(event.callKey) ?? {}, event.data));
    for (const { name, hook } of event.hooks ?? []) hooks.add(`${session.agent}/${name}/${hook}`);
    switch (event.type) {
      case "history_added":
        if (isTop) history.push(...event.messages);
        break;
      case "run_started": {
        openRun = event.runId;
        const queued = event.queuedSeq === undefined ? undefined : entries[event.queuedSeq - 1]?.event;
        const asked = queued?.type === "run_queued" ? queued : event;
        const input = await inlineMessages(asked.input ?? [], sessionId, store);
        if (request === "") request = toText(input);
        if (isTop) turns.push(toTurn(input, asked.options, patches));
        patches = [];
        break;
      }
      case "run_finished":
        openRun = null;
        break;
      case "prepared":
        prepared.add(`${event.runId}/${event.modelCallIndex}`);
        if (typeof event.toolsHash === "string") await readTools(reading, session, event.toolsHash);
        break;
      case "handed_off":
        session.agent = event.to;
        break;
      case "steered":
        if (event.source === "user")
          arrivals.push({
            step: Math.max(1, prepared.size),
            steer: await inlineMessages(event.input, sessionId, store),
            ...defined({ skip: event.skip }),
          });
        break;
      case "data_changed": {
        const data = withoutLabel(event.patch);
        if (data.set === undefined && data.unset === undefined) break;
        if (openRun === null) patches.push(data);
        else arrivals.push({ step: Math.max(1, prepared.size), data });
        break;
      }
      default:
    }
  }
  return { request, arrivals };
}

function toTurn(input: readonly UserMessage[], options: RunOptions | undefined, data: readonly DataPatch[]): Turn {
  const { output, tools: _, stopWhen: __, ...others } = options ?? {};
  return {
    input,
    ...defined({ output }),
    ...(Object.keys(others).length === 0 ? {} : { options: others }),
    ...(data.length === 0 ? {} : { data }),
  };
}

async function readEvent(reading: Reading, session: SessionReading, event: PublicEvent): Promise<void> {
  const { answers, calls, used, usage } = reading;
  const { open, isTop } = session;
  switch (event.type) {
    case "handed_off":
      session.agent = event.to;
      return;
    case "tool_call": {
      open.set(event.callKey, { name: event.name, input: event.input, index: calls.length });
      calls.push(toAskedCall(session, event.name, event.input, "open"));
      return;
    }
    case "child_started": {
      const call = open.get(event.callKey);
      if (call !== undefined) call.isChild = true;
      return readSession(reading, event.childId, false);
    }
    case "approval_requested": {
      const call = open.get(event.callKey);
      // A tool's question is part of the tool's own work, and an external result belongs to the program that provides it.
      const isApproval = event.childId === undefined && (event.why === "policy" || event.why === "provider");
      if (call !== undefined && isApproval) call.asked = true;
      return;
    }
    case "approval_answered": {
      const call = open.get(event.callKey);
      if (call === undefined) return;
      const { overruled, questionId, note } = event;
      const answer = overruled?.answer ?? event.answer;
      const value = event.value ?? event.input;
      const { agent } = session;
      answers.push({ agent, tool: call.name, input: call.input, answer, ...defined({ value, note, questionId }) });
      if (event.input !== undefined) call.input = event.input;
      return;
    }
    case "tool_result":
      return readResult(reading, session, event);
    case "step_finished": {
      const { inputTokens = 0, outputTokens = 0, costUsd = usage.costOf(event.model, event.usage) } = event.usage;
      if (isTop) reading.model = event.model;
      used.steps += 1;
      used.input += inputTokens;
      used.output += outputTokens;
      if (costUsd === undefined) used.isPriced = false;
      else used.costUsd += costUsd;
      return;
    }
    case "final": {
      if (!isTop) return;
      const { result } = event;
      reading.ending = {
        status: result.status,
        text: result.text,
        ...("reason" in result ? { reason: result.reason } : {}),
        ...defined({ error: result.status === "failed" && !reading.isPlayable ? result.error?.message : undefined }),
        ...defined({ output: "output" in result ? (result.output as Json | undefined) : undefined }),
      };
      return;
    }
    default:
  }
}

type ResultEvent = Extract<PublicEvent, { readonly type: "tool_result" }>;

async function readResult(reading: Reading, session: SessionReading, event: ResultEvent): Promise<void> {
  const { calls, results, store } = reading;
  const { agent, open, sessionId, patches } = session;
  const call = open.get(event.callKey);
  if (call === undefined) return;
  const { name, input, index, asked } = call;
  const error = reading.isPlayable ? undefined : findError(event);
  calls[index] = { ...toAskedCall(session, name, input, event.outcome), ...defined({ asked, error }) };
  // A refused call did not run. In a trial, the current policy decides whether it may.
  if ((event.outcome !== "ok" && event.outcome !== "error") || call.isChild === true) return;
  const output = await inlineOutput(event.returned ?? event.output, sessionId, store);
  const data = patches.get(event.callKey);
  const isError = event.outcome === "error";
  results.push({ agent, tool: name, input, output, ...(isError ? { isError } : {}), ...defined({ data }) });
}

function findError({ outcome, output }: ResultEvent): string | undefined {
  return outcome !== "ok" && output.type === "text" ? output.text.replace(/^Error: /, "") : undefined;
}

function toAskedCall({ agent, schemas }: SessionReading, tool: string, input: Json, outcome: string): AskedCall {
  const filled = fillDefaults(schemas.get(tool), input);
  return { agent, tool, input, ...(toKey(filled) === toKey(input) ? {} : { filled }), outcome };
}

/** The text of a request's messages. */
export function toText(input: readonly UserMessage[]): string {
  return input.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : []))).join("\n");
}

/** Returns the same string for equal values, whatever the order of their keys. */
export function toKey(value: unknown): string {
  return canonicalJson(JSON.parse(JSON.stringify(value ?? null)) as Json);
}
