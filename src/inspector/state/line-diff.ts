/**
 * The difference of two texts, line by line.
 */
import { diffArrays } from "diff";

export type DiffLine = { readonly kind: "same" | "removed" | "added"; readonly text: string };

/** Milliseconds for a comparison. After that, all old lines are shown as removed, and all new ones as added. */
const timeout = 200;

export function diffOf(before: string, after: string): readonly DiffLine[] {
  const [old, next] = [linesOf(before), linesOf(after)];
  const parts = diffArrays(old, next, { timeout });
  if (parts === undefined) return [...old.map(line("removed")), ...next.map(line("added"))];
  return parts.flatMap(({ value, added, removed }) => value.map(line(added ? "added" : removed ? "removed" : "same")));
}

/** A row of two texts side by side. `null`: the other text has no line here. */
export type SideBySide = { readonly old: string | null; readonly next: string | null; readonly isSame: boolean };

/** The lines of a difference in two columns: what was removed stands beside what was added in its place. */
export function sidesOf(lines: readonly DiffLine[]): readonly SideBySide[] {
  const rows: SideBySide[] = [];
  let [removed, added]: [string[], string[]] = [[], []];
  const take = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1)
      rows.push({ old: removed[at] ?? null, next: added[at] ?? null, isSame: false });
    [removed, added] = [[], []];
  };
  for (const { kind, text } of lines) {
    if (kind === "removed") removed.push(text);
    else if (kind === "added") added.push(text);
    else {
      take();
      rows.push({ old: text, next: text, isSame: true });
    }
  }
  take();
  return rows;
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function line(kind: DiffLine["kind"]): (text: string) => DiffLine {
  return (text) => ({ kind, text });
}
