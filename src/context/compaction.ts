/**
 * When a conversation is summed up, and where it is cut.
 *
 * 1. The last turns are kept as they are; fewer where they do not fit, and of the last one its last steps.
 * 2. What was decided stays: what is kept word for word adds up over compactions, each item once; the summary is replaced.
 */
import type { CompactionService, CompactionTask, CompactionView, Summary } from "../ports/compaction.js";
import { inputOf, parseAnswer, promptOf, type SummaryWishes } from "./summary.js";

export type CompactionRules = SummaryWishes & {
  readonly triggerRatio: number;
  readonly targetRatio: number;
  readonly keepTurns: number;
};

/** The parts of the budget that a summary, and what is kept word for word, may take. */
const summaryRatio = 0.15;
const retainedRatio = 0.15;

/** What is replaced must be this much of the budget: asking a model for less is not worth it. */
const leastRatio = 0.05;

export function createCompactionService(rules: CompactionRules): CompactionService {
  return {
    isDue: ({ tokens, budget }) => tokens >= rules.triggerRatio * budget,
    cutOf: (view) => cutOf(view, rules),
    sumUp: (task) => sumUp(task, rules),
  };
}

function cutOf(view: CompactionView, { targetRatio, keepTurns }: CompactionRules): number | null {
  const { messages, cuts, tokens, budget, fixed, estimator } = view;
  const estimated = messages.reduce((sum, message) => sum + estimator.message(message), fixed);
  // What a provider counted is more or less than the estimate: the room is measured as the messages are.
  const scale = tokens > 0 ? estimated / tokens : 1;
  const fits = keptFrom(view, Math.max(0, (budget * (targetRatio - summaryRatio) - fixed) * scale));
  const turns = messages.flatMap(({ role }, index) => (role === "user" && index >= fits ? [index] : []));
  const from = turns.length < keepTurns ? fits : (turns.at(-keepTurns) ?? fits);
  const cut = cuts.find((one) => one >= from) ?? cuts.at(-1) ?? 0;
  const replaced = messages.slice(0, cut).reduce((sum, message) => sum + estimator.message(message), 0);
  return replaced >= leastRatio * budget * scale ? cut : null;
}

/** The first message from which on everything fits in the room. */
function keptFrom({ messages, estimator }: CompactionView, room: number): number {
  let tokens = 0;
  for (let index = messages.length; index > 0; index -= 1) {
    const message = messages[index - 1];
    tokens += message === undefined ? 0 : estimator.message(message);
    if (tokens > room) return index;
  }
  return 0;
}

async function sumUp(task: CompactionTask, rules: CompactionRules): Promise<Summary> {
  const { size, estimator, earlier } = task;
  const most = size.budget * retainedRatio;
  const { kept, folded } = foldOldest(earlier?.retained ?? [], most * 0.75, estimator.text);
  const words = Math.max(80, Math.floor((size.budget * summaryRatio) / 2));
  const systemPrompt = promptOf(rules, words);
  const room = task.summariserBudget - estimator.text(systemPrompt);
  const text = inputOf({ ...task, earlier: { summary: earlier?.summary ?? "", retained: kept }, folded, room });
  const answer = parseAnswer(await task.ask({ systemPrompt, text }));
  return { summary: answer.summary, retained: addUp(kept, answer.retained, most, estimator.text) };
}

/** What is kept word for word has a bound: the oldest items become part of the summary. */
function foldOldest(items: readonly string[], most: number, tokensOf: (text: string) => number) {
  let tokens = 0;
  let first = items.length;
  while (first > 0) {
    tokens += tokensOf(items[first - 1] ?? "");
    if (tokens > most) break;
    first -= 1;
  }
  return { kept: items.slice(first), folded: items.slice(0, first) };
}

/** Each once, the earlier ones first. */
function addUp(
  earlier: readonly string[],
  added: readonly string[],
  most: number,
  tokensOf: (text: string) => number,
): readonly string[] {
  const seen = new Set(earlier.map(alike));
  const items = [...earlier];
  let tokens = earlier.reduce((sum, item) => sum + tokensOf(item), 0);
  for (const item of added) {
    const more = tokensOf(item);
    if (seen.has(alike(item)) || tokens + more > most) continue;
    seen.add(alike(item));
    items.push(item);
    tokens += more;
  }
  return items;
}

/** Items that say the same in the same words are one. */
function alike(item: string): string {
  return item
    .toLowerCase()
    .replace(/[\s.,;:!]+/g, " ")
    .trim();
}
