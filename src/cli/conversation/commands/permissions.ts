/**
 * `/permissions`: the rules that apply in a conversation.
 */
import { PawlError } from "../../../index.js";
import { resolveUserName } from "../../decisions/user-name.js";
import { formatRule, formatTestedLine } from "../../permissions/format-rule.js";
import { modeOf } from "../../permissions/mode.js";
import type { Rule } from "../../permissions/rule.js";
import { findRuleNote } from "../../permissions/rule-note.js";
import { verdicts } from "../../permissions/rule-types.js";
import { loadSessionData, removeRule, type StorageScope, saveRule } from "../../permissions/save-rule.js";
import type { SessionRules } from "../../permissions/session-rules.js";
import { shortenRule } from "../../permissions/tool-version.js";
import { type Line, lineOf, spanOf } from "../../screen/line.js";
import { sanitize, toOneLine } from "../../terminal/text.js";
import { wrapNote } from "../lines/view-lines.js";
import type { CommandContext } from "./command-context.js";

const usageLines: readonly string[] = [
  "/permissions add allow shell(npm test *) session",
  "    or ask, deny; session, project (this folder), user (everywhere)",
  "/permissions remove 1    its number in this list, or its text",
  "/permissions test git status && ls    what the rules say about a command line",
];

export async function runPermissionsCommand(context: CommandContext, words: string): Promise<void> {
  const [, verb = "", rest = ""] = /^(\S*)\s*(.*)$/s.exec(words) ?? [];
  const session = await loadSessionRules(context);
  switch (verb) {
    case "":
      return list(context, session);
    case "add":
      return await add(context, rest);
    case "remove":
      return await remove(context, findListedRule(context.permissions.rules(session), rest));
    case "test":
      return context.say([lineOf(toOneLine(await formatTestedLine(context.permissions, rest, session)))]);
    default:
      throw new PawlError("bad_input", `/permissions takes add, remove or test, not ${JSON.stringify(verb)}.`);
  }
}

/** Loads the rules that are stored in the session. */
export async function loadSessionRules({ agent, sessionId }: CommandContext): Promise<SessionRules> {
  return { sessionId, data: (await loadSessionData(agent.session(sessionId))) ?? {} };
}

function list({ permissions: { rules }, columns, say }: CommandContext, session: SessionRules): void {
  const ruleLines = rules(session).map(
    (rule, at): Line => [spanOf(`${at + 1}`.padStart(3), "bold"), spanOf(`  ${sanitize(formatRule(rule))}`)],
  );
  const mode = modeOf(session);
  say([
    ...(mode === "ask" ? [] : wrapNote(modeLines[mode], columns(), "yellow")),
    ...(ruleLines.length === 0 ? wrapNote(emptyRules, columns()) : ruleLines),
    ...usageLines.map((line) => lineOf(line, "dim")),
  ]);
}

const emptyRules = "No rule has been kept. Tools and commands that only read run; everything else asks.";

const modeLines = {
  edits: "Mode edits: edit_file and write_file run in the folder without asking. /mode ask ends it.",
  plan: "Mode plan: whatever rules allow, nothing in the folder is changed until you accept a plan. /mode ask ends it.",
} as const;

const scopes: readonly StorageScope[] = ["session", "project", "user"];

async function add(
  { permissions: sessionPermissions, agent, sessionId, columns, say }: CommandContext,
  text: string,
): Promise<void> {
  const [, word = "", rule = "", scopeName = "session"] =
    /^(\S+)\s+(.+?)(?:\s+(session|project|user))?$/s.exec(text.trim()) ?? [];
  const verdict = verdicts.find((candidate) => candidate === word);
  const scope = scopes.find((candidate) => candidate === scopeName);
  if (verdict === undefined || scope === undefined)
    throw new PawlError("bad_input", `Give a verdict and a rule: ${usageLines[0] ?? ""}`);
  const session = agent.session(sessionId);
  const storedRule = await saveRule(
    { permissions: sessionPermissions, session, by: resolveUserName() },
    scope,
    verdict,
    { rule },
  );
  const note = findRuleNote(storedRule);
  say([
    lineOf(sanitize(formatRule(storedRule))),
    ...(note === null ? [] : wrapNote(sanitize(note), columns(), "yellow")),
  ]);
}

/** The rule with this number in the list, or with this text, such as `shell(rm *)` or `deny shell(rm *)`. */
function findListedRule(rules: readonly Rule[], words: string): Rule | undefined {
  const text = words.trim();
  if (/^\d+$/.test(text)) return rules[Number(text) - 1];
  const [, verdict, name = text] = /^(allow|ask|deny)\s+(.+)$/s.exec(text) ?? [];
  const [found, ...others] = rules.filter(
    ({ rule, ...listed }) =>
      (rule === name || shortenRule(rule) === name) && (verdict === undefined || verdict === listed.verdict),
  );
  if (others.length > 0)
    throw new PawlError(
      "bad_input",
      "Several rules have this text. Give the number of one, as /permissions lists them.",
    );
  return found;
}

async function remove(
  { permissions: sessionPermissions, agent, sessionId, say }: CommandContext,
  rule: Rule | undefined,
): Promise<void> {
  if (rule === undefined)
    throw new PawlError("bad_input", "There is no such rule. Give its number or its text, as /permissions lists them.");
  const isRemoved = await removeRule(
    { permissions: sessionPermissions, session: agent.session(sessionId), by: resolveUserName() },
    rule,
  );
  if (!isRemoved)
    throw new PawlError(
      "bad_input",
      `${rule.rule} is a rule ${rule.scope === "folder" ? "of the folder: change its pawl.config.json" : "of this command: start pawl without it"}.`,
    );
  say([lineOf(`Removed: ${sanitize(formatRule(rule))}`)]);
}
