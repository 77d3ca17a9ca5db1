/**
 * Checks a person's answer before it is posted. A message id is taken once, so a bad answer would block a good one; and
 * the answer must fit into the log.
 */
import { anything, checkOptions, type OptionRule, trueOrFalse } from "../../check-options.js";
import { checkJson } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import type { Call } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { JsonSchema } from "../../ports/model.js";
import type { ApprovalDecision } from "../agent/answer-types.js";
import { isTooLong } from "../model/parse-tool-call.js";
import { type CompiledInput, compileAnswer, compileInput } from "../tools/schema.js";

type Asking = Extract<Call, { readonly status: "asking" }>;

const toPolicy: ReadonlySet<unknown> = new Set<ApprovalDecision["type"]>(["approve", "deny", "modify", "abort"]);
const toProvider: ReadonlySet<unknown> = new Set<ApprovalDecision["type"]>(["approve", "deny", "abort"]);
const toRecovery: ReadonlySet<unknown> = new Set<ApprovalDecision["type"]>([
  "approve",
  "deny",
  "rerun",
  "result",
  "fail",
  "abort",
]);

const toTool: ReadonlySet<unknown> = new Set<ApprovalDecision["type"]>(["reply", "decline", "abort"]);

const questions: {
  readonly [why in Asking["why"]]: { readonly answers: ReadonlySet<unknown>; readonly question: string };
} = {
  policy: { answers: toPolicy, question: "waits for an approval: answer approve, deny, modify or abort" },
  provider: {
    answers: toProvider,
    question:
      "is run by the model's provider, which holds its input and waits for an approval: answer approve, deny or abort",
  },
  recovery: {
    answers: toRecovery,
    question: "had started and its outcome is unknown: answer rerun, result, fail or abort",
  },
  tool: { answers: toTool, question: "asks a question of its tool: answer reply, decline or abort" },
};

/**
 * Checks that the decision fits the question, and that its note can be stored.
 * @throws PawlError `bad_input`
 */
export function checkDecision({ callKey, why }: Asking, decision: ApprovalDecision): void {
  const type: unknown = typeof decision === "object" && decision !== null ? decision.type : undefined;
  const { answers, question } = questions[why];
  if (!answers.has(type)) throw new PawlError("bad_input", `Call ${callKey} ${question}.`);
  const { type: _, ...fields } = decision;
  checkOptions<object>(`The answer ${JSON.stringify(type)}`, fieldRules[decision.type], fields, {
    code: "bad_input",
    otherNames,
  });
  checkWords("note" in decision ? { note: decision.note } : {});
}

const fieldRules: { readonly [Type in ApprovalDecision["type"]]: { readonly [field: string]: OptionRule } } = {
  approve: {},
  deny: { note: anything },
  modify: { input: anything },
  abort: { note: anything },
  rerun: {},
  result: { output: anything, isError: trueOrFalse },
  fail: { note: anything },
  reply: { value: anything },
  decline: { note: anything },
};

const otherNames = { reason: "note", message: "note", args: "input", edits: "input", result: "output" };

/** @throws PawlError `bad_input` */
export function checkWords({ note, by }: { readonly note?: unknown; readonly by?: unknown }): void {
  checkText("note", note, longestNote);
  checkText("by", by, longestName);
}

/** Characters. */
const longestNote = 10_000;
const longestName = 500;

function checkText(name: string, text: unknown, most: number): void {
  if (text === undefined || (typeof text === "string" && text.length <= most)) return;
  const given = typeof text === "string" ? `has ${text.length} characters` : "is no text";
  throw new PawlError("bad_input", `\`${name}\` ${given}; it must be a text of at most ${most} characters.`);
}

/** Bytes of JSON. */
const mostReplyBytes = 64 * 1024;

/**
 * Checks what a person replies to a tool: plain JSON that fits the question's schema. A copy.
 * @throws PawlError `bad_input`
 */
export async function checkedReply(
  callKey: string,
  value: unknown,
  { questionId, schema }: { readonly questionId?: string; readonly schema?: JsonSchema },
): Promise<Json> {
  const checked = checkJson(value, { maxBytes: mostReplyBytes });
  const which = `The answer to the question ${JSON.stringify(questionId)} of call ${callKey}`;
  if (!checked.ok)
    throw new PawlError("bad_input", `${which} cannot be taken: ${checked.error}. Change it and answer again.`);
  const result = schema === undefined ? undefined : await compileAnswer(schema).validate(checked.value);
  if (result === undefined || result.ok) return structuredClone(checked.value);
  const issues = result.issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  throw new PawlError(
    "bad_input",
    `${which} does not fit the question's schema:\n- ${issues.join("\n- ")}\nNothing was answered. Change it and answer again.`,
  );
}

/** What a waiting call's tool takes, as this process or the session's log knows it; undefined if neither does. */
export type SchemaOf = (toolName: string) => Promise<JsonSchema | undefined>;

/**
 * Refuses an edit that does not fit the tool's JSON Schema. Other checks of the tool follow when the call is decided.
 * @throws PawlError `bad_input`
 */
export async function checkEdit(
  { callKey, name }: Pick<Asking, "callKey" | "name">,
  input: Json,
  schemaOf: SchemaOf,
): Promise<void> {
  const schema = await schemaOf(name);
  const compiled = schema === undefined ? undefined : compiledSchema(schema);
  const result = await compiled?.validate(input);
  if (result === undefined || result.ok) return;
  const issues = result.issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  throw new PawlError(
    "bad_input",
    `The edited input of call ${callKey} does not fit the schema of the tool "${name}":\n- ${issues.join("\n- ")}\nNothing was answered. Change the input and answer again.`,
  );
}

/** A schema that this version cannot compile does not refuse an edit. */
function compiledSchema(schema: JsonSchema): CompiledInput | undefined {
  try {
    return compileInput(schema);
  } catch {
    return undefined;
  }
}

/**
 * Checks an edited input and copies it. It must be plain JSON already: the input runs exactly as it was approved.
 * @throws PawlError `bad_input`
 */
export function editedInput({ callKey }: Asking, input: unknown): Json {
  const checked = checkJson(input);
  const isLong = checked.ok && isTooLong(JSON.stringify(checked.value));
  if (checked.ok && !isLong) return structuredClone(checked.value);
  const problem = checked.ok ? "it is too long to be stored" : checked.error;
  const what = `The edited input of call ${callKey} cannot be taken: ${problem}.`;
  throw new PawlError("bad_input", `${what} Change it and answer again.`);
}
