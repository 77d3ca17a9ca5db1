/**
 * `/cost`: what the last run and the session used, and which model used how much. What nobody reported stays unknown.
 */
import { addUsage, type Usage } from "../../index.js";
import { type CacheLoss, cacheLoss } from "../../models/index.js";
import { addSavings, type CacheSavings, noSavings, shareRead } from "../cache-savings.js";
import { dollars } from "../closing-line.js";
import { modelLabel } from "../model-label.js";
import { counted, oneLine } from "../text.js";
import { breaksNote } from "./cache-break-note.js";
import { listedLines } from "./listed-lines.js";
import type { CommandContext } from "./session-commands.js";
import { costOf, tokensOf } from "./status-line.js";
import { traceRecords } from "./trace-records.js";
import { wrappedNote } from "./view-lines.js";

type Part = { readonly usage: Usage; readonly calls: number };

export async function cost({ store, sessionId, state, columns, say }: CommandContext): Promise<void> {
  const models = new Map<string, Part>();
  let savings = noSavings;
  const losses: CacheLoss[] = [];
  for await (const step of traceRecords(store, sessionId, "step")) {
    for (const { model, usage } of step.attempts) {
      models.set(model, withCall(models.get(model), usage));
      savings = addSavings(savings, model, usage ?? {});
    }
    const loss = cacheLoss(step);
    if (loss !== null) losses.push(loss);
  }
  let compactions: Part | undefined;
  for await (const { usage } of traceRecords(store, sessionId, "compaction"))
    compactions = withCall(compactions, usage);
  const parts: readonly (readonly [string, Part])[] = [
    ...[...models].map(([id, part]) => [oneLine(modelLabel(id)), part] as const),
    ...(compactions === undefined ? [] : [["compactions", compactions] as const]),
  ];
  const total = parts.reduce<Usage>((sum, [, { usage }]) => addUsage(sum, usage), {});
  const rows: readonly (readonly [name: string, usage: Usage, calls: string])[] = [
    ["last run", state().usage, ""],
    ["session", total, ""],
    ...parts.map(([name, { usage, calls }]) => [`  ${name}`, usage, `, ${counted(calls, "call")}`] as const),
  ];
  const entries = rows.map(([head, usage, calls]) => ({ head, about: usedText(usage) + calls, style: "dim" }) as const);
  const notes = [cacheNote(savings, total), breaksNote(losses)].filter((note) => note !== null);
  say([...listedLines(entries, columns()), ...notes.flatMap((note) => wrappedNote(note, columns(), "dim"))]);
}

/** What the cache saved of the session's model calls; null if it read nothing. */
function cacheNote(savings: CacheSavings, { costUsd, partial }: Usage): string | null {
  const share = shareRead(savings);
  if (share === null) return null;
  const read = `Read from the cache: ${share} of the input`;
  const { usd } = savings;
  if (usd === null || costUsd === undefined || partial === true) return `${read}.`;
  const without = `with the cache ${dollars(costUsd)}, without it ${dollars(costUsd + usd)}`;
  return usd < 0 ? `${read}; ${without}.` : `${read}, saved ${dollars(usd)} (${without}).`;
}

/** An attempt without a usage is one that its provider turned away. */
function withCall(part: Part = { usage: {}, calls: 0 }, usage: Usage = {}): Part {
  return { usage: addUsage(part.usage, usage), calls: part.calls + 1 };
}

function usedText(usage: Usage): string {
  const tokens = tokensOf(usage);
  return tokens === "" ? "no tokens are known" : `${tokens}, ${costOf(usage) || "cost unknown"}`;
}
