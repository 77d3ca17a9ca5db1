/**
 * Checks the name of a tool, and the names of its options. A misspelled option would be ignored: the tool would run without
 * its approval or its limit.
 */
import {
  aBoolean,
  aFunction,
  anArray,
  anObject,
  anyValue,
  type CheckSettings,
  checkOptions,
  checkPlainOptions,
  integerFrom,
  numberFrom,
  type OptionRule,
  type OptionTable,
  timeLimit,
} from "./check-options.js";
import { type ErrorCode, PawlError } from "./errors.js";
import type { AnyTool, ToolRetry } from "./ports/tool.js";

const toolRules: OptionTable<Omit<AnyTool, "~deps" | "~params">> = {
  name: anyValue,
  description: anyValue,
  input: anyValue,
  lenientInput: aBoolean,
  readOnly: aBoolean,
  recover: {
    accepts: (value) => isRecovery(value),
    expected: '"rerun", "fail", "ask" or { reconcile } with a function',
  },
  needsApproval: {
    accepts: (value) => ["boolean", "function"].includes(typeof value),
    expected: "true, false or a function",
  },
  durable: aBoolean,
  retry: anObject,
  sequential: aBoolean,
  timeoutMs: timeLimit,
  graceMs: numberFrom(0),
  keepDataOnError: aBoolean,
  maxOutputBytes: integerFrom(1, "bytes"),
  toModelOutput: aFunction,
  executeRaw: aFunction,
  execute: aFunction,
  provider: anObject,
  providerOptions: anObject,
  strict: aBoolean,
  inputExamples: anArray,
  defer: { accepts: (value) => typeof value === "boolean" || value === "auto", expected: 'true, false or "auto"' },
};

/** A misspelled one would only show once a process has died in a call. */
function isRecovery(value: unknown): boolean {
  if (typeof value === "string") return ["rerun", "fail", "ask"].includes(value);
  return typeof value === "object" && value !== null && "reconcile" in value && typeof value.reconcile === "function";
}

/** The names of other libraries for these. */
const otherNames = {
  inputSchema: "input",
  parameters: "input",
  schema: "input",
  args: "input",
  argsSchema: "input",
  args_schema: "input",
  func: "execute",
  fn: "execute",
  run: "execute",
  handler: "execute",
  invoke: "execute",
  requireApproval: "needsApproval",
  requiresApproval: "needsApproval",
  needs_approval: "needsApproval",
  timeout: "timeoutMs",
  id: "name",
};

const retryRules: OptionTable<ToolRetry> = {
  attempts: {
    accepts: (value) => Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= 20,
    expected: "a whole number of attempts, 1 to 20",
  },
  backoff: anObject,
  when: aFunction,
};

const backoffRules: OptionTable<NonNullable<ToolRetry["backoff"]>> = { baseMs: delayRule(), maxMs: delayRule() };

/** A day: a longer wait would outlive what the call is about. */
function delayRule(): OptionRule {
  return {
    accepts: (value) => Number.isFinite(value) && (value as number) >= 0 && (value as number) <= 86_400_000,
    expected: "milliseconds, 0 to 86,400,000",
  };
}

/** The `retry` of a tool, and of a tool step. @throws PawlError `bad_configuration`, or the given code */
export function checkRetry(what: string, retry: ToolRetry, code: ErrorCode = "bad_configuration"): void {
  checkOptions(what, retryRules, retry, { code });
  if (retry.backoff !== undefined) checkOptions(`${what}.backoff`, backoffRules, retry.backoff, { code });
}

const checkSettings: CheckSettings = { otherNames };

/**
 * Refuses a name that no provider takes, a missing description, and unknown options of a tool that is a plain object. An instance of a class may hold more.
 * @param what names the tool in messages
 * @throws PawlError `bad_configuration`
 */
export function checkTool(what: string, tool: AnyTool): void {
  checkPlainOptions(what, toolRules, tool, checkSettings);
  if (typeof tool.name !== "string" || !/^[a-zA-Z0-9_-]{1,64}$/.test(tool.name))
    throw new PawlError(
      "bad_configuration",
      `A tool cannot be named ${formatName(tool.name)}. Use 1 to 64 letters, digits, "_" and "-", which every provider accepts.`,
    );
  if (typeof tool.description !== "string")
    throw new PawlError(
      "bad_configuration",
      `The tool "${tool.name}" has no description. Say what it does and when to use it.`,
    );
  if (tool.durable === true && tool.recover !== undefined && tool.recover !== "rerun")
    throw new PawlError(
      "bad_configuration",
      `${what} is durable, so a call of it runs again after a crash, and is given the steps that are over. Leave recover out, or set durable: false.`,
    );
  if (tool.retry !== undefined) checkRetry(`${what}: retry`, tool.retry);
}

function formatName(name: unknown): string {
  return typeof name === "string" ? JSON.stringify(name.slice(0, 100)) : String(name);
}
