/**
 * The rules of a session: part of its data, so they are in its log, and a resume has them. They name their session, so a
 * fork does not have them.
 */
import { PawlError, type SessionData } from "../../index.js";
import { readLists } from "./rule-file.js";
import type { RuleLists } from "./rule-text.js";

/** Where the rules of a session come from. */
export type SessionRules = { readonly sessionId: string; readonly data: SessionData };

/** The key in the session's data. */
export const sessionRulesKey = "permissions";

const none: RuleLists = {};
const read = new WeakMap<object, RuleLists>();

/** @throws PawlError `bad_configuration` */
export function readSessionRules({ sessionId, data }: SessionRules): RuleLists {
  const value = data[sessionRulesKey];
  if (typeof value !== "object" || value === null || Array.isArray(value)) return none;
  const { session, ...lists } = value as { readonly [name: string]: unknown };
  if (session !== sessionId) return none;
  const known = read.get(value);
  if (known !== undefined) return known;
  const present = readLists(lists, refuse);
  read.set(value, present);
  return present;
}

function refuse(why: string): PawlError {
  return new PawlError("bad_configuration", `The permission rules of this session cannot be read: ${why}.`);
}
