/**
 * Makes a case from a recorded session. Everything that the case quotes is redacted; its structure (names of tools, agents and
 * members) is not.
 */

import { aFunction, anArray, aString, checkOptions, integerFrom, type OptionTable } from "../check-options.js";
import { createUsageService } from "../context/usage.js";
import { defined } from "../core/data/defined.js";
import type { Json, Message, ToolOutput, UserMessage } from "../core/data/message.js";
import type { DataPatch } from "../core/data/session-data.js";
import type { Entry } from "../core/machine/event.js";
import { PawlError } from "../errors.js";
import { listPrices } from "../models/facts/prices.js";
import type { DeltaBody } from "../ports/model.js";
import type { Store } from "../ports/store.js";
import { type Redact, redactJson } from "../runtime/observers/redact.js";
import type { EvalCase, OutsideTool, RecordedSession, Turn } from "./case.js";
import { createPseudonyms, parseInner } from "./pseudonyms.js";
import { readRecord, type SessionRecord, toKey } from "./read-record.js";

/** Options of `createCase`. */
export type CaseOptions = {
  /** The name of the case. Default: the id of the session. */
  readonly name?: string;
  /**
   * The log entry from which on the model is asked. Everything before that entry comes from the record, but passes through the
   * current code. Default: the model is asked from the beginning.
   */
  readonly at?: number;
  /** Tags to select cases by. */
  readonly tags?: readonly string[];
  /** Members whose values are replaced with pseudonyms wherever they occur, for example `name` and `street`. */
  readonly hide?: readonly string[];
  /**
   * Tools of plugins and MCP servers to keep in the case, so that an eval need not start the plugin or server: names, or a prefix
   * such as `calendar_*`.
   */
  readonly outsideTools?: readonly string[];
  /** Additional redaction, applied first. */
  readonly redact?: Redact;
};

const optionRules: OptionTable<CaseOptions> = {
  name: aString,
  at: integerFrom(1),
  tags: anArray,
  hide: anArray,
  outsideTools: anArray,
  redact: aFunction,
};

/**
 * Makes a case from a recorded session and its child sessions. The session is not changed.
 *
 * @throws PawlError `no_session`; `bad_input` if no run of the session can be played to its end, if the session has no entry `at`,
 * or if no tool matches `outsideTools`
 *
 * @example
 * ```ts
 * import { writeFile } from "node:fs/promises";
 * import { createCase } from "pawl/evals";
 *
 * const made = await createCase(store, "customer-7", { name: "refund-twice", hide: ["name", "street"] });
 * await writeFile("evals/cases/refund-twice.json", JSON.stringify(made, null, 2));
 * ```
 */
export async function createCase(store: Store, sessionId: string, options: CaseOptions = {}): Promise<EvalCase> {
  checkOptions("createCase()", optionRules, options);
  const { name = sessionId, at, tags, hide = [], redact } = options;
  const record = await readRecord(store, sessionId, createUsageService(listPrices), "playable");
  const [top] = record.sessions;
  if (top === undefined || record.ending === undefined) throw notPlayableError(sessionId, record);
  const made: EvalCase = {
    v: 1,
    name,
    agent: top.agent,
    ...defined({ tags }),
    ...(record.history.length === 0 ? {} : { history: record.history }),
    turns: record.turns,
    ...(record.answers.length === 0 ? {} : { answers: record.answers }),
    calls: record.results,
    sessions: record.sessions.map(toRecordedSession),
    ...(at === undefined ? {} : { at: countStepsBefore(top.entries, at, sessionId) }),
    ...findOutsideTools(record, options.outsideTools ?? [], sessionId),
    expected: record.ending,
    ...defined({ label: record.label }),
    from: { sessionId, seq: record.seq, model: record.model, startedAt: record.startedAt },
  };
  const plain = JSON.parse(JSON.stringify(made)) as Json;
  const redacted = (redact === undefined ? plain : redactJson(plain, redact)) as unknown as EvalCase;
  return hidePersons({ ...redacted, ...defined({ from: made.from }) }, hide);
}

function notPlayableError(sessionId: string, { isCut }: SessionRecord): PawlError {
  return new PawlError(
    "bad_input",
    isCut
      ? `The first run of session ${sessionId} is still open, or a person aborted it, so there is no end to compare a trial with. Choose another session, or fork it and let the run end.`
      : `Session ${sessionId} has no finished run, and a trial is compared with the end of a run. Choose another session.`,
  );
}

function toRecordedSession({ agent, request, steps, arrivals }: SessionRecord["sessions"][number]): RecordedSession {
  return { agent, request, steps, ...(arrivals.length === 0 ? {} : { arrivals }) };
}

function countStepsBefore(entries: readonly Entry[], at: number, sessionId: string): number {
  if (at > entries.length)
    throw new PawlError(
      "bad_input",
      `Session ${sessionId} has no entry ${at} in its record. Choose an entry from 1 to ${entries.length}.`,
    );
  return entries.filter(({ seq, event }) => seq <= at && event.type === "model_finished").length;
}

function findOutsideTools(
  { offered, ending }: SessionRecord,
  wanted: readonly string[],
  sessionId: string,
): { readonly outsideTools?: readonly OutsideTool[] } {
  if (wanted.length === 0) return {};
  const found: OutsideTool[] = [];
  for (const pattern of wanted) {
    const isWanted = (name: string) =>
      pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
    const before = found.length;
    for (const [agent, tools] of offered)
      for (const { name, description, inputSchema } of tools)
        if (isWanted(name)) {
          const isAsked = ending?.calls.some(
            (call) => call.agent === agent && call.tool === name && call.asked === true,
          );
          const specification = { name, description, inputSchema };
          found.push({ agent, specification, ...(isAsked === true ? { needsApproval: true } : {}) });
        }
    if (found.length === before)
      throw new PawlError(
        "bad_input",
        `Session ${sessionId} had no tool ${JSON.stringify(pattern)}. Name a tool of a plugin or MCP server, or use a prefix followed by "*".`,
      );
  }
  return { outsideTools: found };
}

/** Returns a value with its personal data replaced. */
type Change = (value: Json) => Json;

function hidePersons(made: EvalCase, keys: readonly string[]): EvalCase {
  const names = createPseudonyms(keys);
  mapContent(made, (value) => {
    names.collect(value);
    return value;
  });
  const { from } = made;
  return {
    ...mapContent(made, names.apply),
    // The session's id may identify a customer, and the case is named after the session unless it was given another name.
    name: made.name === from?.sessionId ? toText(names.apply(made.name)) : made.name,
    ...(from === undefined ? {} : { from: { ...from, sessionId: toText(names.apply(from.sessionId)) } }),
  };
}

/**
 * Applies a change to everything that the case quotes: requests, answers, inputs, results and text. The structure stays: a customer
 * may have the same name as a tool, and `name` is also a member of the format.
 */
function mapContent(made: EvalCase, change: Change): EvalCase {
  const { history, turns, answers, calls, sessions, expected, label } = made;
  const text = (value: string) => change(value) as string;
  return {
    ...made,
    ...(history === undefined ? {} : { history: history.map((message) => mapMessage(message, change)) }),
    turns: turns.map((turn) => mapTurn(turn, change)),
    ...defined({
      answers: answers?.map((one) => ({
        ...one,
        input: change(one.input),
        ...(one.value === undefined ? {} : { value: change(one.value) }),
        ...(one.note === undefined ? {} : { note: text(one.note) }),
      })),
      calls: calls?.map((one) => ({
        ...one,
        input: change(one.input),
        output: mapOutput(one.output, change),
        ...(one.data === undefined ? {} : { data: mapPatch(one.data, change) }),
      })),
      sessions: sessions?.map((session) => mapSession(session, change)),
      expected:
        expected === undefined
          ? undefined
          : {
              ...expected,
              ...(expected.text === undefined ? {} : { text: toText(change(expected.text)) }),
              ...(expected.output === undefined ? {} : { output: change(expected.output) }),
              ...(expected.calls === undefined
                ? {}
                : {
                    calls: expected.calls.map((one) => ({
                      ...one,
                      input: change(one.input),
                      ...(one.filled === undefined ? {} : { filled: change(one.filled) }),
                    })),
                  }),
            },
      label: label?.note === undefined ? label : { ...label, note: text(label.note) },
    }),
  };
}

function toText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function mapTurn(turn: Turn, change: Change): Turn {
  const { input, options, data } = turn;
  const { systemPrompt, providerOptions, params } = options ?? {};
  // Provider options and params may contain the customer's id.
  const changed = defined({ systemPrompt, providerOptions, params }) as { readonly [option: string]: Json };
  return {
    ...turn,
    input: input.map((message) => mapUserMessage(message, change)),
    ...(options === undefined ? {} : { options: { ...options, ...(change(changed) as typeof options) } }),
    ...(data === undefined ? {} : { data: data.map((patch) => mapPatch(patch, change)) }),
  };
}

/** Keys may also identify a person, and `hide` lists keys. */
function mapPatch({ set, unset }: DataPatch, change: Change): DataPatch {
  const changeKeys = (keys: readonly string[]) =>
    Object.keys(change(Object.fromEntries(keys.map((key) => [key, null]))) as object);
  return {
    ...(set === undefined ? {} : { set: change(set) as NonNullable<DataPatch["set"]> }),
    ...(unset === undefined ? {} : { unset: changeKeys(unset) }),
  };
}

function mapUserMessage(message: UserMessage, change: Change): UserMessage {
  return {
    ...message,
    parts: message.parts.map((part) => (part.type === "text" ? { ...part, text: toText(change(part.text)) } : part)),
  };
}

function mapMessage(message: Message, change: Change): Message {
  if (message.role === "user") return mapUserMessage(message, change);
  if (message.role === "tool")
    return {
      ...message,
      parts: message.parts.map((part) => ({ ...part, output: mapOutput(part.output, change) })),
    };
  return {
    ...message,
    parts: message.parts.map((part) => {
      if (part.type === "text" || part.type === "reasoning") return { ...part, text: toText(change(part.text)) };
      if (part.type === "tool_call") return { ...part, input: change(part.input) };
      return part.type === "tool_result" ? { ...part, output: mapOutput(part.output, change) } : part;
    }),
  };
}

function mapOutput(output: ToolOutput, change: Change): ToolOutput {
  if (output.type === "json") return { ...output, value: change(output.value) };
  if (output.type === "text") return { ...output, text: mapJsonText(output.text, change) };
  const parts = output.parts.map((part) =>
    part.type === "text" ? { ...part, text: toText(change(part.text)) } : part,
  );
  return { ...output, parts };
}

function mapSession(session: RecordedSession, change: Change): RecordedSession {
  const { arrivals } = session;
  return {
    ...session,
    request: toText(change(session.request)),
    steps: session.steps.map((step) => mapStep(step, change)),
    ...(arrivals === undefined
      ? {}
      : {
          arrivals: arrivals.map((one) => ({
            ...one,
            ...(one.steer === undefined ? {} : { steer: one.steer.map((message) => mapUserMessage(message, change)) }),
            ...(one.data === undefined ? {} : { data: mapPatch(one.data, change) }),
          })),
        }),
  };
}

/** Providers sign reasoning, so reasoning with replaced text is omitted. */
function mapStep(step: readonly DeltaBody[], change: Change): readonly DeltaBody[] {
  const unsigned = new Set(
    step.flatMap((delta) => (delta.kind === "reasoning-delta" && change(delta.text) !== delta.text ? [delta.id] : [])),
  );
  return step
    .filter((delta) => !(isReasoning(delta) && unsigned.has(delta.id)))
    .map((delta) => mapDelta(delta, change));
}

function isReasoning(
  delta: DeltaBody,
): delta is Extract<DeltaBody, { readonly kind: "reasoning-start" | "reasoning-delta" | "reasoning-end" }> {
  return delta.kind === "reasoning-start" || delta.kind === "reasoning-delta" || delta.kind === "reasoning-end";
}

function mapDelta(delta: DeltaBody, change: Change): DeltaBody {
  switch (delta.kind) {
    case "text-delta":
      return { ...delta, text: toText(change(delta.text)) };
    case "tool-call":
      return { ...delta, input: mapJsonText(delta.input, change) };
    case "tool-result":
      return { ...delta, output: mapOutput(delta.output, change) };
    case "source": {
      const { url, title, filename } = delta;
      const changed = defined({ url, title, filename });
      return { ...delta, ...(change(changed) as typeof changed) };
    }
    default:
      return delta;
  }
}

/** Changes JSON text as a value, so that it still equals the same value elsewhere in the case. */
function mapJsonText(text: string, change: Change): string {
  const inner = parseInner(text);
  if (inner === undefined) return toText(change(text));
  const changed = change(inner);
  return toKey(changed) === toKey(inner) ? text : JSON.stringify(changed);
}
