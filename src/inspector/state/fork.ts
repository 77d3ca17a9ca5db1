/**
 * Forking a session: up to which entry it is copied, and what the copy is asked.
 */
import type { Json, UserMessage } from "../../index.js";
import type { StepRow } from "./steps.js";

/** The place that somebody has chosen: a step, by its key, or an entry of the log. */
export type ForkPoint = { readonly step: string } | { readonly seq: number };

/** The step, and the one that follows it in its session. */
export function findStepWithNext(
  rows: readonly StepRow[],
  key: string,
): { readonly row: StepRow; readonly next: StepRow | null } | null {
  const index = rows.findIndex((row) => row.key === key);
  const row = rows[index];
  return row === undefined ? null : { row, next: rows[index + 1] ?? null };
}

/** The text of a request, which somebody may change. */
export function textOfRequest(input: readonly UserMessage[]): string {
  return listParts(input)
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n");
}

/** Files of a request that cannot be sent again: their bytes belong to the session that is copied. */
export function countOmittedFiles(input: readonly UserMessage[]): number {
  return listParts(input).filter((part) => part.type === "file" && isBlobFile(part)).length;
}

/** The request with another text, and with its files. */
export function replaceText(text: string, before: readonly UserMessage[]): Json {
  const files = listParts(before).filter((part) => part.type === "file" && !isBlobFile(part));
  return files.length === 0 ? text : ([{ type: "text", text }, ...files] as Json);
}

function listParts(input: readonly UserMessage[]): UserMessage["parts"] {
  return input.flatMap(({ parts }) => parts);
}

function isBlobFile(part: UserMessage["parts"][number]): boolean {
  return part.type === "file" && part.data.startsWith("blob:");
}
