/**
 * JSON Schemas of the responses, on which clients may rely. The tests check every response against them.
 *
 * Types of the library (events, messages, entries, results) are described by the fields that all of their variants share. The package
 * exports their exact types.
 */
import { statuses } from "./statuses.js";

type Schema = { readonly [keyword: string]: unknown };

/** The content of the responses with one status. */
export type ResponseContent = { readonly type: string; readonly schema?: Schema };

const string = { type: "string" } as const;
const integer = { type: "integer" } as const;
const number = { type: "number" } as const;
const boolean = { type: "boolean" } as const;
const anyValue = {} as const;
const anyObject = { type: "object" } as const;
const arrayOf = (items: Schema) => ({ type: "array", items });
const nullable = (schema: Schema) => ({ anyOf: [schema, { type: "null" }] });
const schemaRef = (name: keyof typeof responseSchemas) => ({ $ref: `#/components/schemas/${name}` });

/** @param optional the names of properties that may be absent */
function closedObject(properties: { readonly [name: string]: Schema }, ...optional: readonly string[]): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required, additionalProperties: false };
}

/** An object with at least these properties. */
function openObject(properties: { readonly [name: string]: Schema }): Schema {
  return { type: "object", properties, required: Object.keys(properties) };
}

const pageOf = (name: string, items: Schema, next: Schema) =>
  closedObject({ [name]: arrayOf(items), next: nullable(next) });

const listedSession = {
  sessionId: string,
  info: nullable(openObject({ agent: string, model: string })),
  status: { enum: statuses },
  activity: { enum: ["resting", "active", "waiting"] },
  seq: integer,
  createdAt: number,
  updatedAt: number,
  inbox: integer,
  isHeld: boolean,
} as const;

const usage = anyObject;

/** The named schemas of the OpenAPI document. */
export const responseSchemas = {
  Session: closedObject({
    ...listedSession,
    hasChildren: boolean,
    questions: integer,
    lastRun: nullable(closedObject({ runId: string, steps: integer, usage })),
  }),
  SessionNow: closedObject({
    ...listedSession,
    run: nullable(
      closedObject({ runId: string, startSeq: integer, counters: anyObject, usage, result: nullable(anyObject) }),
    ),
    waiting: arrayOf({ $ref: "#/components/schemas/Approval" }),
  }),
  Approval: openObject({
    sessionId: string,
    runId: string,
    callKey: string,
    name: string,
    input: anyValue,
    why: string,
  }),
  AnsweredCall: openObject({ sessionId: string, callKey: string, name: string, answer: string, at: number }),
  RunResult: openObject({ sessionId: string, runId: string, status: string, text: string, usage, steps: integer }),
  Schedule: openObject({
    id: string,
    rev: integer,
    nextAt: nullable(number),
    when: anyObject,
    timezone: string,
    agent: string,
    session: anyValue,
    overlap: string,
    missed: string,
    jitterMs: number,
  }),
  Slot: openObject({ slot: number, outcome: { enum: ["posted", "missed", "overlap", "manual"] }, at: number }),
  Redaction: closedObject({
    sessionId: string,
    seq: nullable(integer),
    entries: arrayOf(integer),
    blobs: integer,
    children: arrayOf({ $ref: "#/components/schemas/Redaction" }),
  }),
  Event: openObject({ type: string, sessionId: string, seq: integer, index: integer, at: number }),
  Message: openObject({ role: { enum: ["user", "assistant", "tool", "system"] }, parts: arrayOf(anyObject) }),
  Entry: closedObject({ seq: integer, event: openObject({ type: string, at: number }) }),
  TraceRecord: openObject({ type: string, sessionId: string, runId: string, traceId: string }),
  /** The cells of a row, in the order of `columns`. */
  StepRow: {
    type: "array",
    prefixItems: [
      ...[
        integer,
        string,
        integer,
        number,
        number,
        integer,
        nullable(integer),
        nullable(integer),
        nullable(integer),
        arrayOf(string),
      ],
      arrayOf({ type: "array", prefixItems: [string, nullable(string), nullable(number)], items: false }),
      ...[number, number],
    ],
    items: false,
    minItems: 13,
  },
  RequestTokens: closedObject({ tools: integer, systemPrompt: integer, messages: arrayOf(integer), total: integer }),
  RequestDifference: closedObject({
    part: { enum: ["tools", "systemPrompt", "message"] },
    index: nullable(integer),
    tokensLost: integer,
  }),
} as const;

const json = (schema: Schema): ResponseContent => ({ type: "application/json", schema });

/** A stream of events. */
export const eventStreamContent: ResponseContent = { type: "text/event-stream" };
export const bytesContent: ResponseContent = { type: "application/octet-stream" };
export const plainContent: ResponseContent = { type: "text/plain" };
export const anyJson = json(anyValue);

export const responseContents = {
  ok: json(closedObject({ ok: { const: true } })),
  openApi: json(openObject({ openapi: string, info: anyObject, paths: anyObject, components: anyObject })),
  agents: json(
    closedObject({
      agents: arrayOf(
        closedObject({
          name: string,
          models: arrayOf(string),
          tools: arrayOf(openObject({ name: string, description: string, inputSchema: anyValue })),
          limits: anyObject,
        }),
      ),
    }),
  ),
  sessions: json(pageOf("sessions", schemaRef("Session"), string)),
  session: json(schemaRef("SessionNow")),
  begun: json(closedObject({ sessionId: string, runId: string, seq: integer })),
  sent: json(closedObject({ runId: string, isNew: boolean, seq: integer })),
  copy: json(closedObject({ sessionId: string })),
  redaction: json(schemaRef("Redaction")),
  messages: json(closedObject({ messages: arrayOf(schemaRef("Message")) })),
  uiMessages: json(
    closedObject({ messages: arrayOf(openObject({ id: string, role: string, parts: arrayOf(anyObject) })) }),
  ),
  result: json(schemaRef("RunResult")),
  underWay: json(closedObject({ runId: string })),
  outcome: json(closedObject({ outcome: { enum: ["asked", "nothing"] } })),
  answered: json(
    closedObject({
      counted: { enum: ["first", "second"] },
      answer: nullable(openObject({ type: string, at: number })),
    }),
  ),
  counted: json(closedObject({ counted: { enum: ["first", "second"] } })),
  approvals: json(
    pageOf(
      "approvals",
      { allOf: [schemaRef("Approval"), openObject({ tool: nullable(openObject({ name: string })) })] },
      string,
    ),
  ),
  schedules: json(pageOf("schedules", schemaRef("Schedule"), string)),
  schedule: json(schemaRef("Schedule")),
  slots: json(closedObject({ slots: arrayOf(schemaRef("Slot")) })),
  postedRun: json(closedObject({ sessionId: string, runId: string, slot: number })),
  tick: json(closedObject({ fired: integer, driven: integer, isIdle: boolean, nextAt: nullable(number) })),
  pushKey: json(closedObject({ publicKey: nullable(string) })),
  signalled: json(closedObject({ id: string, isNew: boolean })),
  label: json(closedObject({ label: nullable(closedObject({ good: boolean, note: string }, "note")) })),
  evals: json(closedObject({ evals: arrayOf(openObject({ name: string, variants: anyObject, trialCount: integer })) })),
  evalReport: json(
    closedObject({ report: openObject({ name: string, variants: anyObject, trials: arrayOf(anyObject) }) }),
  ),
  answeredCalls: json(pageOf("answered", schemaRef("AnsweredCall"), string)),
  events: json(pageOf("events", schemaRef("Event"), string)),
  matches: json(
    pageOf(
      "matches",
      closedObject(
        {
          seq: integer,
          index: integer,
          at: number,
          type: string,
          runId: string,
          modelCallIndex: integer,
          callKey: string,
          name: string,
          where: { enum: ["request", "text", "reasoning", "call", "result", "summary"] },
          before: string,
          match: string,
          after: string,
        },
        ...["runId", "modelCallIndex", "callKey", "name"],
      ),
      string,
    ),
  ),
  entries: json(pageOf("entries", schemaRef("Entry"), integer)),
  trace: json(pageOf("records", schemaRef("TraceRecord"), integer)),
  steps: json(
    closedObject({
      columns: arrayOf(string),
      steps: arrayOf(schemaRef("StepRow")),
      events: arrayOf(schemaRef("Event")),
      next: nullable(integer),
    }),
  ),
  request: json(
    closedObject({
      request: openObject({
        runId: string,
        modelCallIndex: integer,
        attempt: integer,
        messages: arrayOf(schemaRef("Message")),
      }),
      tokens: schemaRef("RequestTokens"),
      difference: nullable(schemaRef("RequestDifference")),
    }),
  ),
  replay: json(closedObject({ replay: anyObject })),
  code: json(closedObject({ code: string })),
  ticket: json(closedObject({ half: string, expiresAt: number })),
  otherLogin: json(closedObject({ from: string, to: string })),
  proof: json(closedObject({ page: nullable(string), server: nullable(string) })),
} as const;
