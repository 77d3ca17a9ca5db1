/**
 * The mode of a session: *edits* lets the file tools that write run in the folder without a question, until it is taken back.
 *
 * 1. It is part of the session's data, so it is in its log, and a resume has it. It names its session, so a fork does not have it.
 * 2. It is a rule of the session that allows: what another rule denies or asks about stays so, and files that are always protected do, too.
 */
import { userHome } from "./path-pattern.js";
import { parseRule, type Rule } from "./rule.js";
import type { SessionRules } from "./session-rules.js";

export const modes = ["ask", "edits"] as const;
export type Mode = (typeof modes)[number];

/** The key in the session's data. */
export const modeKey = "mode";

/** Anybody may change the session's data: what is no mode counts as none. */
export function modeOf({ sessionId, data }: SessionRules): Mode {
  const value = data[modeKey];
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "ask";
  const { session, is } = value as { readonly [name: string]: unknown };
  return session === sessionId && is === "edits" ? "edits" : "ask";
}

/** A relative pattern is about the folder only, by the real path of the file. */
const editRules: readonly Rule[] = ["edit_file(**)", "write_file(**)"].map((rule) =>
  parseRule("allow", { rule }, "session", userHome),
);

/** What the mode allows. */
export function listModeRules(session: SessionRules | undefined): readonly Rule[] {
  return session !== undefined && modeOf(session) === "edits" ? editRules : [];
}
