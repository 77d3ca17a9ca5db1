/**
 * The rules of a session. They are part of its data, so they are in the log and survive a resume. They name their session, so a
 * fork does not have them.
 */
import { isObject } from "../../core/data/is-object.js";
import { PawlError, type SessionData } from "../../index.js";
import { parseRuleLists } from "./rule-file.js";
import type { RuleLists } from "./rule-types.js";

/** The source of a session's rules. */
export type SessionRules = { readonly sessionId: string; readonly data: SessionData };

/** The key in the session's data. */
export const sessionRulesKey = "permissions";

const noRules: RuleLists = {};
const parsedRules = new WeakMap<object, RuleLists>();

/** @throws PawlError `bad_configuration` */
export function readSessionRules({ sessionId, data }: SessionRules): RuleLists {
  const value = data[sessionRulesKey];
  if (!isObject(value)) return noRules;
  const { session, ...lists } = value;
  if (session !== sessionId) return noRules;
  const cached = parsedRules.get(value);
  if (cached !== undefined) return cached;
  const parsed = parseRuleLists(lists, createRulesError);
  parsedRules.set(value, parsed);
  return parsed;
}

function createRulesError(why: string): PawlError {
  return new PawlError("bad_configuration", `The permission rules of this session cannot be read: ${why}.`);
}
