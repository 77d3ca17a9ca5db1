/**
 * Structured output (OUT-1, OUT-2): requests an answer that matches a schema, and checks the answer.
 *
 * 1. The log stores the schema as JSON Schema, and the answer as the JSON that the model wrote, so any process can check it.
 * 2. The caller's own schema parses that JSON when the caller gets the result. Its parsed value is never stored.
 */
import { isDangerousKey, isSameJson, parseJson } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import { reasons } from "../../core/data/reasons.js";
import type { RunResult } from "../../core/view/outcome.js";
import type { Clock } from "../../ports/clock.js";
import type { JsonSchema, ModelRequest } from "../../ports/model.js";
import { awaitInTime } from "../lib/time-limit.js";
import { type CompiledInput, compileInput, type InputResult } from "../tools/schema.js";
import { defaultHookTimeoutMs } from "./compile-hooks.js";
import type { CompiledAgent } from "./compiled-agent.js";
import { createLocalKey, findLocals, type LocalRunState, type LocalRunStates } from "./local-run-options.js";

/** Added to the requests of a run whose answer must match a schema. */
export type OutputRequest = {
  readonly responseFormat: NonNullable<ModelRequest["responseFormat"]>;
  readonly prompt: string;
};

const requestsBySchema = new WeakMap<object, OutputRequest>();

/** Cached, because it is the same in every request of a run. */
export function getOutputRequest(schema: JsonSchema): OutputRequest {
  const known = requestsBySchema.get(schema);
  if (known !== undefined) return known;
  const closed = closeSchema(schema) as JsonSchema;
  const made: OutputRequest = {
    responseFormat: { type: "json", name: "answer", schema: closed },
    prompt: `Your final answer must be JSON that fits this JSON Schema, and nothing else: no other words, no code fence.\n${JSON.stringify(closed)}`,
  };
  requestsBySchema.set(schema, made);
  return made;
}

/** Adds `additionalProperties: false` to objects that do not set it. Providers that enforce a schema require it. */
function closeSchema(schema: Json): Json {
  if (schema === null || typeof schema !== "object") return schema;
  if (Array.isArray(schema)) return schema.map(closeSchema);
  const closed = Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => !isDangerousKey(key))
      .map(([key, value]) => [key, literalKeywords.has(key) ? value : closeSchema(value)]),
  );
  const isObject = closed.type === "object" && typeof closed.properties === "object";
  return isObject && !("additionalProperties" in closed) ? { ...closed, additionalProperties: false } : closed;
}

/** Keywords whose values are not schemas. */
const literalKeywords: ReadonlySet<string> = new Set(["const", "enum", "default", "examples"]);

export type AnswerCheck =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly message: string };

/**
 * The caller's schema, if this process has it: from the run itself, or from the tool that calls the agent. It may check more than the JSON
 * Schema in the log can express.
 */
export function findOwnSchema(
  sessionId: string,
  runId: string,
  schema: JsonSchema,
  { locals, toolOutput }: Pick<CompiledAgent, "locals" | "toolOutput">,
): CompiledInput | undefined {
  const own = findLocals(locals, sessionId, runId)?.output;
  if (own !== undefined || toolOutput === undefined) return own;
  return isSameJson(toolOutput.jsonSchema, schema) ? toolOutput : undefined;
}

/** Returns the answer as data, or why it does not match. @param own the caller's schema, if this process has it */
export function checkAnswer(
  text: string,
  schema: JsonSchema,
  own: CompiledInput | undefined,
  clock: Clock,
): AnswerCheck | Promise<AnswerCheck> {
  const parsed = parseJson(stripFence(text));
  if (!parsed.ok) return { ok: false, message: `it is not JSON: ${parsed.error}` };
  const { value } = parsed;
  const result = (own ?? compileInput(schema)).validate(structuredClone(value));
  if (!(result instanceof Promise)) return toAnswerCheck(result, value);
  return validateInTime(result, clock).then((done) => toAnswerCheck(done, value));
}

/** A schema may wait for I/O. If validation takes too long, the answer counts as one that does not match. */
async function validateInTime(result: Promise<InputResult>, clock: Clock): Promise<InputResult> {
  const settled = await awaitInTime(result, { timeoutMs: defaultHookTimeoutMs, clock });
  if (settled.type === "returned") return settled.value;
  return { ok: false, issues: [{ path: "", message: `it could not be checked: ${settled.message}` }] };
}

function toAnswerCheck(result: InputResult, value: Json): AnswerCheck {
  if (result.ok) return { ok: true, value };
  const issues = result.issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  return { ok: false, message: `it does not fit the schema:\n- ${issues.join("\n- ")}` };
}

/** Models often put JSON between code fences. */
function stripFence(text: string): string {
  const trimmed = text.trim();
  if (!trimmed.startsWith("```") || !trimmed.endsWith("```")) return trimmed;
  const start = trimmed.indexOf("\n");
  return start === -1 ? trimmed : trimmed.slice(start, -3).trim();
}

/** The message that asks the model for another answer, after one that does not match. */
export function formatRepairRequest(message: string): string {
  return `Your answer cannot be used: ${message}\nAnswer again with nothing but the JSON that was asked for.`;
}

async function keepLocalsDuring(
  key: string,
  locals: LocalRunState,
  all: LocalRunStates,
  act: () => Promise<RunResult>,
): Promise<RunResult> {
  // An option that is passed again replaces only itself.
  all.set(key, { ...all.get(key), ...locals });
  let isContinuing = false;
  try {
    const result = await act();
    const isWaiting = result.status === "awaiting_human" || result.status === "waiting";
    isContinuing = isWaiting || (result.status === "interrupted" && result.resumable);
    return result;
  } finally {
    if (!isContinuing) all.delete(key);
  }
}

/**
 * Keeps the local options of a run until it ends here, and parses its answer with the caller's schema. Nothing is kept for a run that does
 * not begin.
 */
export async function runWithOutput(
  sessionId: string,
  runId: string,
  locals: LocalRunState,
  { locals: all, clock }: { readonly locals: LocalRunStates; readonly clock: Clock },
  act: () => Promise<RunResult>,
): Promise<RunResult> {
  const result = await keepLocalsDuring(createLocalKey(sessionId, runId), locals, all, act);
  if (result.status !== "completed" || locals.output === undefined) return result;
  const { output, ...rest } = result;
  const read =
    output === undefined
      ? { ok: false as const, issues: [{ path: "", message: "the run was started without an output schema" }] }
      : await validateInTime(Promise.resolve(locals.output.validate(structuredClone(output))), clock);
  if (read.ok) return { ...rest, output: read.value as Json };
  const checked = toAnswerCheck(read, output ?? null);
  const message = checked.ok ? "" : `The answer cannot be used: ${checked.message}`;
  const text = rest.text === "" ? reasons.invalid_output.text : rest.text;
  return {
    ...rest,
    text,
    status: "failed",
    reason: "invalid_output",
    error: { code: "invalid_output", message, retryable: false },
  };
}
