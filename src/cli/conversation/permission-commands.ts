/**
 * `/permissions`: what the rules say, in a conversation.
 */
import { PawlError } from "../../index.js";
import { dataOf, dropRule, type KeptScope, keepRule } from "../permissions/keep.js";
import { ruleText, testedLine } from "../permissions/list.js";
import { modeOf } from "../permissions/mode.js";
import type { Rule } from "../permissions/rule.js";
import { noteOfRule } from "../permissions/rule-note.js";
import { verdicts } from "../permissions/rule-text.js";
import type { SessionRules } from "../permissions/session-rules.js";
import { type Line, lineOf, spanOf } from "../screen/line.js";
import { oneLine, visible } from "../text.js";
import { userName } from "../user-name.js";
import type { CommandContext } from "./session-commands.js";

const help: readonly string[] = [
  "/permissions add allow shell(npm test *) session",
  "    or ask, deny; session, project (this folder), user (everywhere)",
  "/permissions remove 2    the number in this list",
  "/permissions test git status && ls    what the rules say of a line",
];

export async function permissions(context: CommandContext, words: string): Promise<void> {
  const [, verb = "", rest = ""] = /^(\S*)\s*(.*)$/s.exec(words) ?? [];
  const session = await sessionRules(context);
  switch (verb) {
    case "":
      return list(context, session);
    case "add":
      return await add(context, rest);
    case "remove":
      return await remove(context, context.permissions.rules(session)[Number(rest) - 1]);
    case "test":
      return context.say([lineOf(oneLine(await testedLine(context.permissions, rest, session)))]);
    default:
      throw new PawlError("bad_input", `/permissions takes add, remove or test, not ${JSON.stringify(verb)}.`);
  }
}

/** What the session itself keeps of rules. */
export async function sessionRules({ agent, sessionId }: CommandContext): Promise<SessionRules> {
  return { sessionId, data: (await dataOf(agent.session(sessionId))) ?? {} };
}

function list({ permissions: { rules }, say }: CommandContext, session: SessionRules): void {
  const present = rules(session).map(
    (rule, at): Line => [spanOf(`${at + 1}`.padStart(3), "bold"), spanOf(`  ${visible(ruleText(rule))}`)],
  );
  const none = lineOf("No rule has been kept. Tools and commands that only read run; everything else asks.");
  const inMode: Line = lineOf(
    "Mode edits: edit_file and write_file run in the folder. /mode ask takes it back.",
    "yellow",
  );
  say([
    ...(modeOf(session) === "edits" ? [inMode] : []),
    ...(present.length === 0 ? [none] : present),
    ...help.map((line) => lineOf(line, "dim")),
  ]);
}

const scopes: readonly KeptScope[] = ["session", "project", "user"];

async function add({ permissions: own, agent, sessionId, say }: CommandContext, text: string): Promise<void> {
  const [, word = "", rule = "", place = "session"] =
    /^(\S+)\s+(.+?)(?:\s+(session|project|user))?$/s.exec(text.trim()) ?? [];
  const verdict = verdicts.find((one) => one === word);
  const scope = scopes.find((one) => one === place);
  if (verdict === undefined || scope === undefined)
    throw new PawlError("bad_input", `Say what the rule does, and the rule: ${help[0] ?? ""}`);
  const session = agent.session(sessionId);
  const made = await keepRule({ permissions: own, session, by: userName() }, scope, verdict, { rule });
  const note = noteOfRule(made);
  say([lineOf(visible(ruleText(made))), ...(note === null ? [] : [lineOf(visible(note), "yellow")])]);
}

async function remove(
  { permissions: own, agent, sessionId, say }: CommandContext,
  rule: Rule | undefined,
): Promise<void> {
  if (rule === undefined) throw new PawlError("bad_input", "There is no rule of this number. /permissions lists them.");
  const isGone = await dropRule({ permissions: own, session: agent.session(sessionId), by: userName() }, rule);
  if (!isGone)
    throw new PawlError(
      "bad_input",
      `${rule.rule} is a rule ${rule.scope === "folder" ? "of the folder: change its pawl.config.json" : "of this command: start pawl without it"}.`,
    );
  say([lineOf(`Removed: ${visible(ruleText(rule))}`)]);
}
