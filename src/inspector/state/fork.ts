/**
 * Forking a session: the entry up to which it is copied, and the input for the copy.
 */
import type { Json, UserMessage } from "../../index.js";
import type { StepRow } from "./step-rows.js";

/** The fork point: a step, by its key, or an entry of the log. */
export type ForkPoint = { readonly step: string } | { readonly seq: number };

/** Finds a step, and the next step of its session. */
export function findStepWithNext(
  rows: readonly StepRow[],
  key: string,
): { readonly row: StepRow; readonly next: StepRow | null } | null {
  const index = rows.findIndex((row) => row.key === key);
  const row = rows[index];
  return row === undefined ? null : { row, next: rows[index + 1] ?? null };
}

/** The text of a request, which the person may change. */
export function textOfRequest(input: readonly UserMessage[]): string {
  return listParts(input)
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n");
}

/** Counts files that cannot be sent again, because their bytes belong to the copied session. */
export function countOmittedFiles(input: readonly UserMessage[]): number {
  return listParts(input).filter((part) => part.type === "file" && isBlobFile(part)).length;
}

/** Replaces the text of a request, and keeps its files. */
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
