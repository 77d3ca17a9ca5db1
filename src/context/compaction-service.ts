/**
 * The built-in compaction service: decides when to compact a conversation and where to cut it, and has a model summarize the part before
 * the cut.
 *
 * 1. The last turns are kept unchanged. If they do not fit, fewer turns are kept, but at least the last steps of the last turn.
 * 2. Decisions survive. Retained items accumulate over compactions, without duplicates. The summary is replaced each time.
 */
import type { CompactionService, CompactionTask, CompactionView, Summary } from "../ports/compaction.js";
import { createSummaryInstruction, createSummaryPrompt, type SummaryPromptOptions } from "./prompts.js";
import { formatSummaryInput, parseSummary } from "./summary.js";

export type CompactionRules = SummaryPromptOptions & {
  readonly triggerRatio: number;
  readonly targetRatio: number;
  readonly keepTurns: number;
};

/** The shares of the budget that the summary and the retained items may take. */
const summaryRatio = 0.15;
const retainedRatio = 0.15;

/** The minimum share of the budget that a compaction must replace. Less is not worth a model call. */
const minReplacedRatio = 0.05;

export function createCompactionService(rules: CompactionRules): CompactionService {
  return {
    isDue: ({ tokens, budget }) => tokens >= rules.triggerRatio * budget,
    cutOf: (view) => chooseCut(view, rules),
    sumUp: (task) => summarize(task, rules),
  };
}

function chooseCut(view: CompactionView, { targetRatio, keepTurns }: CompactionRules): number | null {
  const { messages, cuts, tokens, budget, fixed, estimator } = view;
  const estimated = messages.reduce((sum, message) => sum + estimator.message(message), fixed);
  // The provider's count differs from the estimate. Messages are measured by the estimate, so the room is scaled to it.
  const scale = tokens > 0 ? estimated / tokens : 1;
  const firstFitting = findFirstFitting(view, Math.max(0, (budget * (targetRatio - summaryRatio) - fixed) * scale));
  const turns = messages.flatMap(({ role }, index) => (role === "user" && index >= firstFitting ? [index] : []));
  const from = turns.length < keepTurns ? firstFitting : (turns.at(-keepTurns) ?? firstFitting);
  const cutIndex = cuts.find((index) => index >= from) ?? cuts.at(-1) ?? 0;
  const replaced = messages.slice(0, cutIndex).reduce((sum, message) => sum + estimator.message(message), 0);
  return replaced >= minReplacedRatio * budget * scale ? cutIndex : null;
}

/** The index of the first message from which all messages fit in `room` (in tokens). */
function findFirstFitting({ messages, estimator }: CompactionView, room: number): number {
  let tokens = 0;
  for (let index = messages.length; index > 0; index -= 1) {
    const message = messages[index - 1];
    tokens += message === undefined ? 0 : estimator.message(message);
    if (tokens > room) return index;
  }
  return 0;
}

async function summarize(task: CompactionTask, rules: CompactionRules): Promise<Summary> {
  const { size, estimator, earlier } = task;
  const maxTokens = size.budget * retainedRatio;
  const { kept, folded } = splitOldest(earlier?.retained ?? [], maxTokens * 0.75, estimator.text);
  const maxWords = Math.max(80, Math.floor((size.budget * summaryRatio) / 2));
  const systemPrompt = createSummaryPrompt(rules, maxWords, task.keep);
  const room = task.summariserBudget - estimator.text(systemPrompt);
  const text = formatSummaryInput({
    ...task,
    earlier: { summary: earlier?.summary ?? "", retained: kept },
    folded,
    room,
  });
  const instruction = createSummaryInstruction({
    instructions: systemPrompt,
    kept: task.kept ?? 0,
    retained: kept,
    folded,
  });
  const parsed = parseSummary((await task.askBehind?.(instruction)) ?? (await task.ask({ systemPrompt, text })));
  return { summary: parsed.summary, retained: mergeItems(kept, parsed.retained, maxTokens, estimator.text) };
}

/** Splits off the oldest items. The size of retained items is limited, and the oldest become part of the summary. */
function splitOldest(items: readonly string[], maxTokens: number, tokensOf: (text: string) => number) {
  let tokens = 0;
  let first = items.length;
  while (first > 0) {
    tokens += tokensOf(items[first - 1] ?? "");
    if (tokens > maxTokens) break;
    first -= 1;
  }
  return { kept: items.slice(first), folded: items.slice(0, first) };
}

/** Merges retained items without duplicates, earlier items first. An item that does not fit is dropped. */
function mergeItems(
  earlier: readonly string[],
  added: readonly string[],
  maxTokens: number,
  tokensOf: (text: string) => number,
): readonly string[] {
  const seen = new Set(earlier.map(normalizeItem));
  const items = [...earlier];
  let tokens = earlier.reduce((sum, item) => sum + tokensOf(item), 0);
  for (const item of added) {
    const itemTokens = tokensOf(item);
    if (seen.has(normalizeItem(item)) || tokens + itemTokens > maxTokens) continue;
    seen.add(normalizeItem(item));
    items.push(item);
    tokens += itemTokens;
  }
  return items;
}

/** Two items count as the same if only case, spaces or punctuation differ. */
function normalizeItem(item: string): string {
  return item
    .toLowerCase()
    .replace(/[\s.,;:!]+/g, " ")
    .trim();
}
