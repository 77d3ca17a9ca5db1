/**
 * The mode of a session: *edits* lets the file tools that write run in the folder without a question, and *plan* lets nothing change,
 * until it is switched off.
 *
 * 1. It is part of the session's data, so it is in the log and survives a resume. It names its session, so a fork does not have
 *    it.
 * 2. *edits* is an allowing rule of the session. What another rule denies or asks about stays so, and protected files stay protected.
 */
import { isObject } from "../../core/data/is-object.js";
import { userHome } from "./path-pattern.js";
import { parseRule, type Rule } from "./rule.js";
import type { SessionRules } from "./session-rules.js";

/** In the order in which Shift+Tab goes through them. */
export const modes = ["ask", "edits", "plan"] as const;
export type Mode = (typeof modes)[number];

/**
 * What happens to the calls of an agent that no rule decides: `ask` asks, `edits` lets the file tools write in the folder, `read`
 * has only tools that read, and `deny` denies what would ask. The mode of the session applies as well.
 */
export type AgentMode = "ask" | "edits" | "read" | "deny";

/** The key in the session's data. */
export const modeKey = "mode";

/** Any client can write the session's data, so an invalid mode counts as `ask`. */
export function modeOf({ sessionId, data }: SessionRules): Mode {
  const value = data[modeKey];
  if (!isObject(value)) return "ask";
  const { session, is } = value;
  if (session !== sessionId) return "ask";
  return is === "edits" || is === "plan" ? is : "ask";
}

/** The value in the session's data. The mode `ask` has none. */
export function toStoredMode(sessionId: string, mode: Exclude<Mode, "ask">) {
  return { session: sessionId, is: mode };
}

/** The same session in the mode `edits`, unless it is in the mode `plan`. */
export function withEditMode(session: SessionRules): SessionRules {
  const { sessionId, data } = session;
  if (modeOf(session) === "plan") return session;
  return { sessionId, data: { ...data, [modeKey]: toStoredMode(sessionId, "edits") } };
}

/** A relative pattern applies only to the folder, by the real path of the file. */
const editRules: readonly Rule[] = ["edit_file(**)", "write_file(**)"].map((rule) =>
  parseRule("allow", { rule }, "session", userHome),
);

/** The rules that the mode adds. */
export function listModeRules(session: SessionRules | undefined): readonly Rule[] {
  return session !== undefined && modeOf(session) === "edits" ? editRules : [];
}
