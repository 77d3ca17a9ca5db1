/**
 * The difference between two texts, line by line.
 */
import { diffArrays } from "diff";

export type DiffLine = { readonly kind: "same" | "removed" | "added"; readonly text: string };

/** The timeout of a comparison, in milliseconds. After it, all old lines are shown as removed, and all new lines as added. */
const timeout = 200;

export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [old, next] = [splitLines(before), splitLines(after)];
  const parts = diffArrays(old, next, { timeout });
  if (parts === undefined) return [...old.map(toDiffLine("removed")), ...next.map(toDiffLine("added"))];
  return parts.flatMap(({ value, added, removed }) =>
    value.map(toDiffLine(added ? "added" : removed ? "removed" : "same")),
  );
}

/** A row of two texts side by side. `null`: the other text has no line here. */
export type SideBySideRow = { readonly old: string | null; readonly next: string | null; readonly isSame: boolean };

/** Arranges a difference in two columns: removed lines are next to the lines that replace them. */
export function toSideBySide(lines: readonly DiffLine[]): readonly SideBySideRow[] {
  const rows: SideBySideRow[] = [];
  let [removed, added]: [string[], string[]] = [[], []];
  const flushChanges = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1)
      rows.push({ old: removed[at] ?? null, next: added[at] ?? null, isSame: false });
    [removed, added] = [[], []];
  };
  for (const { kind, text } of lines) {
    if (kind === "removed") removed.push(text);
    else if (kind === "added") added.push(text);
    else {
      flushChanges();
      rows.push({ old: text, next: text, isSame: true });
    }
  }
  flushChanges();
  return rows;
}

function splitLines(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function toDiffLine(kind: DiffLine["kind"]): (text: string) => DiffLine {
  return (text) => ({ kind, text });
}
