/**
 * The shapes of answers, as JSON Schemas: what a client may rely on. The tests check every answer against them.
 *
 * What the library defines (events, messages, entries, results) is described by what all of its kinds have: its types are in
 * the package.
 */

type Schema = { readonly [keyword: string]: unknown };

/** What the answers with one status have. */
export type AnswerContent = { readonly type: string; readonly schema?: Schema };

const text = { type: "string" } as const;
const whole = { type: "integer" } as const;
const number = { type: "number" } as const;
const flag = { type: "boolean" } as const;
const anything = {} as const;
const anyObject = { type: "object" } as const;
const list = (items: Schema) => ({ type: "array", items });
const orNull = (schema: Schema) => ({ anyOf: [schema, { type: "null" }] });
const named = (name: keyof typeof answerSchemas) => ({ $ref: `#/components/schemas/${name}` });

/** @param optional the names of properties that may be absent */
function exactly(properties: { readonly [name: string]: Schema }, ...optional: readonly string[]): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required, additionalProperties: false };
}

/** At least these properties. */
function atLeast(properties: { readonly [name: string]: Schema }): Schema {
  return { type: "object", properties, required: Object.keys(properties) };
}

const page = (name: string, items: Schema, next: Schema) => exactly({ [name]: list(items), next: orNull(next) });

const statuses = {
  enum: ["idle", "preparing", "model_running", "tool_running", "awaiting_human", "completed", "failed", "aborted"],
} as const;

const listed = {
  sessionId: text,
  info: orNull(atLeast({ agent: text, model: text })),
  status: statuses,
  activity: { enum: ["resting", "active", "waiting"] },
  seq: whole,
  createdAt: number,
  updatedAt: number,
  inbox: whole,
  isHeld: flag,
} as const;

const usage = anyObject;

/** Named in the OpenAPI document. */
export const answerSchemas = {
  Session: exactly({ ...listed, hasChildren: flag, lastRun: orNull(exactly({ runId: text, steps: whole, usage })) }),
  SessionNow: exactly({
    ...listed,
    run: orNull(exactly({ runId: text, startSeq: whole, counters: anyObject, usage, result: orNull(anyObject) })),
    waiting: list({ $ref: "#/components/schemas/Approval" }),
  }),
  Approval: atLeast({ sessionId: text, runId: text, callKey: text, name: text, input: anything, why: text }),
  AnsweredCall: atLeast({ sessionId: text, callKey: text, name: text, answer: text, at: number }),
  RunResult: atLeast({ sessionId: text, runId: text, status: text, text, usage, steps: whole }),
  Redaction: exactly({
    ...{ sessionId: text, seq: orNull(whole), entries: list(whole), blobs: whole },
    children: list({ $ref: "#/components/schemas/Redaction" }),
  }),
  Event: atLeast({ type: text, sessionId: text, seq: whole, index: whole, at: number }),
  Message: atLeast({ role: { enum: ["user", "assistant", "tool", "system"] }, parts: list(anyObject) }),
  Entry: exactly({ seq: whole, event: atLeast({ type: text, at: number }) }),
  TraceRecord: atLeast({ type: text, sessionId: text, runId: text, traceId: text }),
  /** In the order of `columns`. */
  StepRow: {
    type: "array",
    prefixItems: [
      ...[whole, text, whole, number, number, whole, orNull(whole), orNull(whole), orNull(whole), list(text)],
      list({ type: "array", prefixItems: [text, orNull(text), orNull(number)], items: false }),
      ...[number, number],
    ],
    items: false,
    minItems: 13,
  },
  RequestTokens: exactly({ tools: whole, systemPrompt: whole, messages: list(whole), total: whole }),
  RequestDifference: exactly({
    part: { enum: ["tools", "systemPrompt", "message"] },
    index: orNull(whole),
    tokensLost: whole,
  }),
} as const;

const json = (schema: Schema): AnswerContent => ({ type: "application/json", schema });

/** A stream of events. */
export const eventStreamContent: AnswerContent = { type: "text/event-stream" };
export const bytesContent: AnswerContent = { type: "application/octet-stream" };
export const plainContent: AnswerContent = { type: "text/plain" };
export const anyJson = json(anything);

export const answers = {
  ok: json(exactly({ ok: { const: true } })),
  openApi: json(atLeast({ openapi: text, info: anyObject, paths: anyObject, components: anyObject })),
  agents: json(
    exactly({
      agents: list(
        exactly({
          name: text,
          models: list(text),
          tools: list(atLeast({ name: text, description: text, inputSchema: anything })),
          limits: anyObject,
        }),
      ),
    }),
  ),
  sessions: json(page("sessions", named("Session"), text)),
  session: json(named("SessionNow")),
  begun: json(exactly({ sessionId: text, runId: text, seq: whole })),
  sent: json(exactly({ runId: text, isNew: flag, seq: whole })),
  copy: json(exactly({ sessionId: text })),
  redaction: json(named("Redaction")),
  messages: json(exactly({ messages: list(named("Message")) })),
  uiMessages: json(exactly({ messages: list(atLeast({ id: text, role: text, parts: list(anyObject) })) })),
  result: json(named("RunResult")),
  underWay: json(exactly({ runId: text })),
  outcome: json(exactly({ outcome: { enum: ["asked", "nothing"] } })),
  answered: json(
    exactly({ counted: { enum: ["first", "second"] }, answer: orNull(atLeast({ type: text, at: number })) }),
  ),
  counted: json(exactly({ counted: { enum: ["first", "second"] } })),
  approvals: json(
    page("approvals", { allOf: [named("Approval"), atLeast({ tool: orNull(atLeast({ name: text })) })] }, text),
  ),
  answeredCalls: json(page("answered", named("AnsweredCall"), text)),
  events: json(page("events", named("Event"), text)),
  matches: json(
    page(
      "matches",
      exactly(
        {
          ...{ seq: whole, index: whole, at: number, type: text, runId: text, modelCallIndex: whole, callKey: text },
          ...{ name: text, where: { enum: ["request", "text", "reasoning", "call", "result", "summary"] } },
          ...{ before: text, match: text, after: text },
        },
        ...["runId", "modelCallIndex", "callKey", "name"],
      ),
      text,
    ),
  ),
  entries: json(page("entries", named("Entry"), whole)),
  trace: json(page("records", named("TraceRecord"), whole)),
  steps: json(
    exactly({ columns: list(text), steps: list(named("StepRow")), events: list(named("Event")), next: orNull(whole) }),
  ),
  request: json(
    exactly({
      request: atLeast({ runId: text, modelCallIndex: whole, attempt: whole, messages: list(named("Message")) }),
      tokens: named("RequestTokens"),
      difference: orNull(named("RequestDifference")),
    }),
  ),
  replay: json(exactly({ replay: anyObject })),
  code: json(exactly({ code: text })),
  ticket: json(exactly({ half: text, expiresAt: number })),
  otherLogin: json(exactly({ from: text, to: text })),
  proof: json(exactly({ page: orNull(text), server: orNull(text) })),
} as const;
