/**
 * Code that may take for ever, cut off: patterns come from schemas, which others may have written (SEC-15).
 */
import { createContext, Script } from "node:vm";

/** Milliseconds. */
const patience = 100;

const script = new Script("run()");
const context = createContext(Object.assign(Object.create(null), { run: undefined }));

/**
 * Runs `work` on this thread for no longer than 100 ms; a regular expression that goes astray is cut off, too.
 * @throws Error where it takes longer
 */
export function withinPatience<T>(work: () => T): T {
  const outcome: { result?: { readonly value: T } } = {};
  context.run = () => {
    outcome.result = { value: work() };
  };
  try {
    script.runInContext(context, { timeout: patience });
  } catch (error) {
    if (isTimeout(error)) throw new Error(`its patterns took longer than ${patience} ms on this value`);
    throw error;
  } finally {
    context.run = undefined;
  }
  if (outcome.result === undefined) throw new Error("the check did not end");
  return outcome.result.value;
}

function isTimeout(error: unknown): boolean {
  return (
    typeof error === "object" && error !== null && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
  );
}

const patternKeywords: ReadonlySet<string> = new Set(["pattern", "patternProperties"]);

/** Whether a JSON Schema holds patterns anywhere. A property of that name counts as well: it costs some time, and nothing else. */
export function hasPatterns(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  return Object.entries(schema).some(([key, value]) => patternKeywords.has(key) || hasPatterns(value));
}
