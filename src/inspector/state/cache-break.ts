/**
 * Where the request of a step first differed from the request before: from there on, a provider's cache is of no use.
 */
import type { StepTrace } from "./session-state.js";

export type CacheBreak = { readonly what: string; readonly message: number | null };

/** Null if the request only added to the one before. A provider's cache begins with the tools, then comes the prompt. */
export function cacheBreakOf(trace: StepTrace | undefined, before: StepTrace | undefined): CacheBreak | null {
  if (trace === undefined || before === undefined || trace.runId !== before.runId || !isCached(before)) return null;
  const { reused } = trace;
  if (!reused.tools) return { what: "tools", message: null };
  if (!reused.prompt) return { what: "system prompt", message: null };
  if (reused.messages < before.messages) return { what: "message", message: reused.messages + 1 };
  return reused.broke === undefined ? null : { what: otherReasons[reused.broke] ?? reused.broke, message: null };
}

export function breakText({ what, message }: CacheBreak): string {
  return message === null ? `the ${what}` : `message ${message}`;
}

/** Whether a provider was asked to cache the request, and reports what it did. Else nothing was lost. */
function isCached({ promptCache, attempts }: StepTrace): boolean {
  if (promptCache === "off") return false;
  return attempts.some(({ usage }) => usage?.cacheReadTokens !== undefined || usage?.cacheWriteTokens !== undefined);
}

/** Reasons that the messages themselves do not show. */
const otherReasons: { readonly [broke: string]: string } = {
  handoff: "handoff",
  model: "change of the model",
  tool_choice: "tool choice",
  settings: "reasoning effort",
  images: "first image",
  time: "end of its lifetime",
  unknown: "provider, which did not have it any more",
};
