/**
 * The data of a session: a JSON object that its tools and callers change, by top-level keys.
 */
import { deepFreeze } from "./freeze.js";
import type { Json } from "./message.js";

/** Named values that a session stores outside of its conversation. */
export type SessionData = { readonly [key: string]: Json };

/** A change of the data. A key that is set and unset is unset. */
export type DataPatch = {
  /** The keys that get a value. */
  readonly set?: SessionData;
  /** The keys that are removed. */
  readonly unset?: readonly string[];
};

/** The data of a session that has none. */
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
