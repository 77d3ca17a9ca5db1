/**
 * The session's data: a JSON object that tools and callers change by top-level keys.
 */
import { deepFreeze } from "./freeze.js";
import type { Json } from "./message.js";

/** Named values that a session stores outside its conversation. */
export type SessionData = { readonly [key: string]: Json };

/** A change to the data. A key that is both set and unset is unset. */
export type DataPatch = {
  /** The keys to set, with their values. */
  readonly set?: SessionData;
  /** The keys to remove. */
  readonly unset?: readonly string[];
};

/** Empty session data. */
export const emptyData: SessionData = deepFreeze({});

/** The maximum size of a session's data as JSON, in bytes. */
export const maxDataBytes = 64 * 1024;
/** The maximum length of a key of the session's data, in characters. */
export const maxDataKeyCharacters = 100;

/** The data after a change. Applying the same change twice has the same result as applying it once. */
export function applyPatch(data: SessionData, { set, unset }: DataPatch): SessionData {
  const changed: { [key: string]: Json } = { ...data, ...set };
  for (const key of unset ?? []) delete changed[key];
  return Object.freeze(changed);
}

/** The keys that a change sets or removes. */
export function patchedKeys({ set, unset }: DataPatch): readonly string[] {
  return [...new Set([...Object.keys(set ?? {}), ...(unset ?? [])])];
}
