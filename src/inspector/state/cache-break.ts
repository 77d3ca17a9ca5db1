/**
 * Where the request of a step first differed from the request before: from there on, a provider's cache is of no use.
 */
import type { StepTrace } from "./session-state.js";

export type CacheBreak = { readonly what: "tools" | "system prompt" | "message"; readonly message: number | null };

/** Null if the request only added to the one before. A provider's cache begins with the tools, then comes the prompt. */
export function cacheBreakOf(trace: StepTrace | undefined, before: StepTrace | undefined): CacheBreak | null {
  if (trace === undefined || before === undefined || trace.runId !== before.runId) return null;
  const { reused } = trace;
  if (!reused.tools) return { what: "tools", message: null };
  if (!reused.prompt) return { what: "system prompt", message: null };
  return reused.messages < before.messages ? { what: "message", message: reused.messages + 1 } : null;
}

export function breakText({ what, message }: CacheBreak): string {
  return message === null ? `the ${what}` : `message ${message}`;
}
