/**
 * Runs code with a time limit. Schemas come from others, and a pattern in a schema may take exponential time (SEC-15).
 */
import { createContext, Script } from "node:vm";

const timeLimitMs = 100;

const script = new Script("run()");
const context = createContext(Object.assign(Object.create(null), { run: undefined }));

/**
 * Runs `work` on this thread for at most 100 ms. The limit also stops a regular expression in the middle.
 * @throws Error if the work takes longer
 */
export function withTimeLimit<T>(work: () => T): T {
  const outcome: { result?: { readonly value: T } } = {};
  context.run = () => {
    outcome.result = { value: work() };
  };
  try {
    script.runInContext(context, { timeout: timeLimitMs });
  } catch (error) {
    if (isTimeout(error)) throw new Error(`its patterns took longer than ${timeLimitMs} ms on this value`);
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

/**
 * Whether a JSON Schema may hold patterns. A property that is named `pattern` counts, too: that only costs some time.
 */
export function hasPatterns(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  return Object.entries(schema).some(([key, value]) => patternKeywords.has(key) || hasPatterns(value));
}
