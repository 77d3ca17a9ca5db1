/**
 * What hooks may return, checked: an answer that is of no known shape is refused whole.
 */
import { checkJson } from "../../core/data/json.js";
import { normaliseJson } from "../tools/to-json.js";

export type Members = { readonly [key: string]: unknown };

/** The members of an answer, where all of them are among these keys and there is one at least. */
export function membersOf(answer: unknown, keys: readonly string[]): Members | undefined {
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) return undefined;
  const given = Object.keys(answer);
  return given.length > 0 && given.every((key) => keys.includes(key)) ? (answer as Members) : undefined;
}

/** The one member of an answer, and which it is. */
export function oneOf(
  answer: unknown,
  keys: readonly string[],
): { readonly key: string; readonly value: unknown } | undefined {
  const members = membersOf(answer, keys);
  if (members === undefined) return undefined;
  const [key, ...others] = Object.keys(members);
  return key === undefined || others.length > 0 ? undefined : { key, value: members[key] };
}

/** A reason is kept in the log, which has bounds. */
export function reasonIn(value: unknown): string | undefined {
  if (typeof value !== "string" || value.trim() === "") return undefined;
  return value.length > longestReason ? `${value.slice(0, longestReason)}…` : value;
}

const longestReason = 10_000;

/** A copy as plain JSON, within what an entry of the log holds. @throws Error where it cannot be kept */
export function jsonIn(value: unknown, maxBytes: number): ReturnType<typeof normaliseJson> {
  const plain = normaliseJson(value);
  const checked = checkJson(plain, { maxBytes });
  if (!checked.ok) throw new Error(checked.error);
  return plain;
}
