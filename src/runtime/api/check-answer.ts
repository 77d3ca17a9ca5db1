/**
 * Checks a person's answer before it is posted. The store accepts a message id once, so an invalid answer would block a valid one. The
 * answer must also fit into the log.
 */
import { aBoolean, anyValue, checkOptions, type OptionRule } from "../../check-options.js";
import { checkJson } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import type { Call } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { JsonSchema } from "../../ports/model.js";
import type { ApprovalDecision } from "../agent/answer-types.js";
import { isTooLong } from "../model/parse-tool-call.js";
import { type CompiledInput, compileAnswer, compileInput, type InputIssue } from "../tools/schema.js";

type AskingCall = Extract<Call, { readonly status: "asking" }>;

const policyAnswers: ReadonlySet<unknown> = new Set<ApprovalDecision["type"]>(["approve", "deny", "modify", "abort"]);
const providerAnswers: ReadonlySet<unknown> = new Set<ApprovalDecision["type"]>(["approve", "deny", "abort"]);
const recoveryAnswers: ReadonlySet<unknown> = new Set<ApprovalDecision["type"]>([
  "approve",
  "deny",
  "rerun",
  "result",
  "fail",
  "abort",
]);

const toolAnswers: ReadonlySet<unknown> = new Set<ApprovalDecision["type"]>(["reply", "decline", "abort"]);

const questionRules: {
  readonly [why in AskingCall["why"]]: { readonly answers: ReadonlySet<unknown>; readonly question: string };
} = {
  policy: { answers: policyAnswers, question: "is waiting for an approval: answer approve, deny, modify or abort" },
  provider: {
    answers: providerAnswers,
    question:
      "is run by the model's provider, which has its input and is waiting for an approval: answer approve, deny or abort",
  },
  recovery: {
    answers: recoveryAnswers,
    question: "had started and its outcome is unknown: answer rerun, result, fail or abort",
  },
  tool: { answers: toolAnswers, question: "asks a question of its tool: answer reply, decline or abort" },
};

/**
 * Checks that the decision fits the question, and that its note can be stored.
 * @throws PawlError `bad_input`
 */
export function checkDecision({ callKey, why }: AskingCall, decision: ApprovalDecision): void {
  const type: unknown = typeof decision === "object" && decision !== null ? decision.type : undefined;
  const { answers, question } = questionRules[why];
  if (!answers.has(type)) throw new PawlError("bad_input", `Call ${callKey} ${question}.`);
  const { type: _, ...fields } = decision;
  checkOptions<object>(`The answer ${JSON.stringify(type)}`, fieldRules[decision.type], fields, {
    code: "bad_input",
    otherNames,
  });
  checkNoteAndBy("note" in decision ? { note: decision.note } : {});
}

const fieldRules: { readonly [Type in ApprovalDecision["type"]]: { readonly [field: string]: OptionRule } } = {
  approve: {},
  deny: { note: anyValue },
  modify: { input: anyValue },
  abort: { note: anyValue },
  rerun: {},
  result: { output: anyValue, isError: aBoolean },
  fail: { note: anyValue },
  reply: { value: anyValue },
  decline: { note: anyValue },
};

const otherNames = { reason: "note", message: "note", args: "input", edits: "input", result: "output" };

/** @throws PawlError `bad_input` */
export function checkNoteAndBy({ note, by }: { readonly note?: unknown; readonly by?: unknown }): void {
  checkLength("note", note, maxNote);
  checkLength("by", by, maxName);
}

/** @throws PawlError `bad_input` */
export function checkRequestId(requestId: unknown): void {
  checkLength("requestId", requestId, maxRequestId);
}

/** In characters. */
const maxNote = 10_000;
const maxName = 500;
const maxRequestId = 200;

function checkLength(name: string, text: unknown, limit: number): void {
  if (text === undefined || (typeof text === "string" && text.length <= limit)) return;
  const given = typeof text === "string" ? `has ${text.length} characters` : "is not a string";
  throw new PawlError("bad_input", `\`${name}\` ${given}; it must be a string of at most ${limit} characters.`);
}

/** In bytes of JSON. */
const maxReplyBytes = 64 * 1024;

/**
 * Checks a person's reply to a tool: plain JSON that matches the question's schema. Returns a copy.
 * @throws PawlError `bad_input`
 */
export async function checkReply(
  callKey: string,
  value: unknown,
  { questionId, schema }: { readonly questionId?: string; readonly schema?: JsonSchema },
): Promise<Json> {
  const checked = checkJson(value, { maxBytes: maxReplyBytes });
  const which = `The answer to the question ${JSON.stringify(questionId)} of call ${callKey}`;
  if (!checked.ok)
    throw new PawlError("bad_input", `${which} cannot be accepted: ${checked.error}. Change it and answer again.`);
  const result = schema === undefined ? undefined : await compileAnswer(schema).validate(checked.value);
  if (result === undefined || result.ok) return structuredClone(checked.value);
  const issues = result.issues.map(formatIssue);
  throw new PawlError(
    "bad_input",
    `${which} does not match the question's schema:\n- ${issues.join("\n- ")}\nNothing was answered. Change it and answer again.`,
  );
}

/** For people. The words for the model are part of the log, and a replay compares them. */
function formatIssue({ path, message }: InputIssue): string {
  const words = message.replace(/^Instance does not have required property (".*")\.$/s, "must have the property $1");
  return path === "" ? words : `${path}: ${words}`;
}

/** Returns the input schema of a tool, from this process or the session's log; undefined if neither has it. */
export type FindSchema = (toolName: string) => Promise<JsonSchema | undefined>;

/**
 * Rejects an edit that does not match the tool's JSON Schema. The tool's other checks follow when the call is decided.
 * @throws PawlError `bad_input`
 */
export async function checkEdit(
  { callKey, name }: Pick<AskingCall, "callKey" | "name">,
  input: Json,
  findSchema: FindSchema,
): Promise<void> {
  const schema = await findSchema(name);
  const compiled = schema === undefined ? undefined : compileOrUndefined(schema);
  const result = await compiled?.validate(input);
  if (result === undefined || result.ok) return;
  const issues = result.issues.map(formatIssue);
  throw new PawlError(
    "bad_input",
    `The edited input of call ${callKey} does not match the schema of the tool "${name}":\n- ${issues.join("\n- ")}\nNothing was answered. Change the input and answer again.`,
  );
}

/** Undefined for a schema that this version cannot compile: the edit is then accepted. */
function compileOrUndefined(schema: JsonSchema): CompiledInput | undefined {
  try {
    return compileInput(schema);
  } catch {
    return undefined;
  }
}

/**
 * Checks an edited input and copies it. It must already be plain JSON, because the input runs exactly as it was approved.
 * @throws PawlError `bad_input`
 */
export function checkEditedInput({ callKey }: AskingCall, input: unknown): Json {
  const checked = checkJson(input);
  const isLong = checked.ok && isTooLong(JSON.stringify(checked.value));
  if (checked.ok && !isLong) return structuredClone(checked.value);
  const problem = checked.ok ? "it is too long to be stored" : checked.error;
  const what = `The edited input of call ${callKey} cannot be accepted: ${problem}.`;
  throw new PawlError("bad_input", `${what} Change it and answer again.`);
}
