/**
 * `/cost`: the usage of the current or last run and of the session, with a share for each model. Unreported usage stays unknown.
 */
import { addUsage, type Usage } from "../../../index.js";
import { type CacheLoss, cacheLoss } from "../../../models/index.js";
import { readFamily } from "../../agent/family-records.js";
import { addSavings, type CacheSavings, formatCacheShare, noSavings } from "../../render/cache-savings.js";
import { formatDollars } from "../../render/format-closing-line.js";
import { formatModel } from "../../render/format-model.js";
import { formatCount, toOneLine } from "../../terminal/text.js";
import { formatCost, formatTokens } from "../fronts/status-line.js";
import { renderList } from "../lines/list-lines.js";
import { wrapNote } from "../lines/view-lines.js";
import type { CommandContext } from "./command-context.js";
import { formatBreaks } from "./format-cache-breaks.js";
import { readTraceRecords } from "./trace-records.js";

type ModelUsage = { readonly usage: Usage; readonly calls: number };

type CostContext = Pick<CommandContext, "agent" | "store" | "sessionId" | "state" | "columns" | "say">;

/** The usage of called agents is included, and also has its own line. */
export async function runCostCommand({ agent, store, sessionId, state, columns, say }: CostContext): Promise<void> {
  const models = new Map<string, ModelUsage>();
  let savings = noSavings;
  const losses: CacheLoss[] = [];
  let [compactions, agents]: (ModelUsage | undefined)[] = [];
  const isStored = (await store.describe(sessionId)) !== null;
  const { children } = isStored ? await readFamily(agent, sessionId) : { children: new Map<string, string>() };
  for (const id of [sessionId, ...children.keys()]) {
    const isChild = id !== sessionId;
    for await (const step of readTraceRecords(store, id, "step")) {
      for (const { model, usage } of step.attempts) {
        models.set(model, addCall(models.get(model), usage));
        if (isChild) agents = addCall(agents, usage);
        savings = addSavings(savings, model, usage ?? {});
      }
      const loss = cacheLoss(step);
      if (loss !== null) losses.push(loss);
    }
    for await (const { usage } of readTraceRecords(store, id, "compaction")) {
      compactions = addCall(compactions, usage);
      if (isChild) agents = addCall(agents, usage);
    }
  }
  const parts: readonly (readonly [string, ModelUsage])[] = [
    ...[...models].map(([id, part]) => [toOneLine(formatModel(id)), part] as const),
    ...(compactions === undefined ? [] : [["compactions", compactions] as const]),
  ];
  const total = parts.reduce<Usage>((sum, [, { usage }]) => addUsage(sum, usage), {});
  const run = state();
  const rows: readonly (readonly [name: string, usage: Usage, calls: string])[] = [
    [run.runId === null ? "last run" : "this run", run.usage, ""],
    ["session", total, ""],
    ...[...parts, ...(agents === undefined ? [] : [["of which agents", agents] as const])].map(
      ([name, { usage, calls }]) => [`  ${name}`, usage, `, ${formatCount(calls, "call")}`] as const,
    ),
  ];
  const entries = rows.map(
    ([head, usage, calls]) => ({ head, about: formatUsage(usage) + calls, style: "dim" }) as const,
  );
  const notes = [formatCacheSavings(savings, total), formatBreaks(losses)].filter((note) => note !== null);
  say([...renderList(entries, columns()), ...notes.flatMap((note) => wrapNote(note, columns(), "dim"))]);
}

/** Describes the savings of the cache in the session's model calls; null if nothing was read from it. */
function formatCacheSavings(savings: CacheSavings, { costUsd, partial }: Usage): string | null {
  const share = formatCacheShare(savings);
  if (share === null) return null;
  const read = `Read from the cache: ${share} of the input`;
  const { usd } = savings;
  if (usd === null || costUsd === undefined || partial === true) return `${read}.`;
  const without = `with the cache ${formatDollars(costUsd)}, without it ${formatDollars(costUsd + usd)}`;
  return usd < 0 ? `${read}; ${without}.` : `${read}, saved ${formatDollars(usd)} (${without}).`;
}

/** Adds one attempt. An attempt that its provider refused has no usage. */
function addCall(part: ModelUsage = { usage: {}, calls: 0 }, usage: Usage = {}): ModelUsage {
  return { usage: addUsage(part.usage, usage), calls: part.calls + 1 };
}

function formatUsage(usage: Usage): string {
  const tokens = formatTokens(usage);
  return tokens === "" ? "tokens unknown" : `${tokens}, ${formatCost(usage) || "cost unknown"}`;
}
