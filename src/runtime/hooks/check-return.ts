/**
 * Checks the return values of hooks: a value of an unknown shape is refused as a whole.
 */
import { isObject } from "../../core/data/is-object.js";
import { checkJson } from "../../core/data/json.js";
import { maxReasonCharacters, truncate } from "../lib/error-text.js";
import { normaliseJson } from "../tools/to-json.js";

export type Members = { readonly [key: string]: unknown };

/** The members of a return value; undefined if it has none, or has a key that is not listed. */
export function pickMembers(answer: unknown, keys: readonly string[]): Members | undefined {
  if (!isObject(answer)) return undefined;
  const present = Object.keys(answer);
  return present.length > 0 && present.every((key) => keys.includes(key)) ? (answer as Members) : undefined;
}

/** The only member of a return value; undefined if it does not have exactly one member, with one of these keys. */
export function pickOnlyMember(
  answer: unknown,
  keys: readonly string[],
): { readonly key: string; readonly value: unknown } | undefined {
  const members = pickMembers(answer, keys);
  if (members === undefined) return undefined;
  const [key, ...others] = Object.keys(members);
  return key === undefined || others.length > 0 ? undefined : { key, value: members[key] };
}

/** A reason, truncated for the log; undefined if it is not a string, or blank. */
export function readReason(value: unknown): string | undefined {
  if (typeof value !== "string" || value.trim() === "") return undefined;
  return truncate(value, maxReasonCharacters);
}

/** Returns a copy as plain JSON. @throws Error if the value is not JSON, or larger than `maxBytes` */
export function toCheckedJson(value: unknown, maxBytes: number): ReturnType<typeof normaliseJson> {
  const plain = normaliseJson(value);
  const checked = checkJson(plain, { maxBytes });
  if (!checked.ok) throw new Error(checked.error);
  return plain;
}
