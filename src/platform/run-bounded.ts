/**
 * Runs code with a time limit. Schemas come from outside, and validating a value against one may take exponential time (SEC-15).
 */
import { type Context, createContext, Script } from "node:vm";

const timeLimitMs = 250;
/** On a busy machine the time limit may pass before any work was done. The work is then retried. */
const maxTries = 3;

const script = new Script("run()");
/** Creating it takes 2 ms, and most schemas need no time limit. */
let createdContext: Context | null = null;

/**
 * Runs `work` on this thread for at most 250 ms. The limit also interrupts a running regular expression. The work may be restarted, so it
 * must have no side effects.
 * @throws Error if the work takes longer
 */
export function withTimeLimit<T>(work: () => T): T {
  for (let tries = 1; ; tries += 1) {
    const cpuBefore = process.cpuUsage();
    const outcome = runOnce(work);
    if (outcome !== "timed out") return outcome.value;
    const { user, system } = process.cpuUsage(cpuBefore);
    const workedMs = (user + system) / 1_000;
    if (tries === maxTries || workedMs > timeLimitMs / 2)
      throw new Error(`it took longer than ${timeLimitMs} ms on this value`);
  }
}

function runOnce<T>(work: () => T): { readonly value: T } | "timed out" {
  const outcome: { result?: { readonly value: T } } = {};
  createdContext ??= createContext(Object.assign(Object.create(null), { run: undefined }));
  const context = createdContext;
  context.run = () => {
    outcome.result = { value: work() };
  };
  try {
    script.runInContext(context, { timeout: timeLimitMs });
  } catch (error) {
    if (isTimeout(error)) return "timed out";
    throw error;
  } finally {
    context.run = undefined;
  }
  if (outcome.result === undefined) throw new Error("the check did not end");
  return outcome.result;
}

function isTimeout(error: unknown): boolean {
  return (
    typeof error === "object" && error !== null && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
  );
}
