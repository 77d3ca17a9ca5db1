/**
 * The built-in context manager.
 *
 * The system prompt and the data of a run never change, so they come first. Hints change, so they come last, and only when their text is
 * new. This order keeps a provider's prompt cache valid from one call to the next.
 */
import type { UserMessage } from "../core/data/message.js";
import type { Context, ContextManager, ContextView } from "../ports/context.js";
import { formatHints, formatRunData } from "./prompts.js";

export const defaultContextManager: ContextManager = {
  build(view): Context {
    const systemPrompt = buildSystemPrompt(view);
    const append = buildHintMessages(view);
    return { ...(systemPrompt === undefined ? {} : { systemPrompt }), tools: view.tools, append };
  },
};

function buildSystemPrompt({ systemPrompt, runSystemPrompt = systemPrompt, run }: ContextView): string | undefined {
  if (Object.keys(run.data).length === 0) return runSystemPrompt;
  return [...(runSystemPrompt === undefined ? [] : [runSystemPrompt]), formatRunData(run.data)].join("\n\n");
}

function buildHintMessages({ hints, appended }: ContextView): readonly UserMessage[] {
  if (hints.length === 0) return noMessages;
  const text = formatHints(hints);
  const last = appended?.[0]?.parts[0];
  if (last?.type === "text" && last.text === text) return noMessages;
  return [{ role: "user", parts: [{ type: "text", text }] }];
}

const noMessages: readonly UserMessage[] = [];
