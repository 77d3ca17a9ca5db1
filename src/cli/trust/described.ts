/**
 * What a folder brings, as a person is shown it: every character visible, and after a change only what has changed.
 */
import { exact } from "../text.js";
import { type BroughtFile, changedLines } from "./trust.js";

/** The file, and what it would do. */
export function describedFile({ path, text, effects, before, isTrusted }: BroughtFile): readonly string[] {
  const hasChanged = before !== null && !isTrusted;
  const changes = hasChanged ? changedLines(before, text) : [];
  const lines = hasChanged
    ? changes.length === 0
      ? ["a program of the folder that it starts has other bytes"]
      : changes
    : text.trimEnd().split("\n");
  return [
    hasChanged ? `${exact(path)} has changed since it was trusted:` : exact(path),
    ...lines.map((line) => `    ${exact(line)}`.trimEnd()),
    ...(effects.length === 0 ? [] : ["It", ...effects.map((effect) => `  ${exact(effect)}`)]),
  ];
}

export function verdictOf({ isTrusted, name }: BroughtFile): string {
  if (isTrusted) return "Trusted, as it is now.";
  return `Not trusted: ${name === ".mcp.json" ? "it starts nothing" : "it asks and denies, and does nothing else"}.`;
}
