/**
 * `pawl permissions`: the rules that a person keeps for a folder and for everywhere.
 */
import { PawlError } from "../../index.js";
import { agentSettings } from "../configuration/agent-settings.js";
import { configurationInForce } from "../configuration/in-force.js";
import { realFolder } from "../drive-session.js";
import { exitCodes } from "../exit.js";
import { homeOf } from "../home.js";
import { dropRule, keepRule } from "../permissions/keep.js";
import { ruleText, testedLine } from "../permissions/list.js";
import { createPermissions } from "../permissions/permissions.js";
import { type Rule, recordOf } from "../permissions/rule.js";
import { noteOfRule } from "../permissions/rule-note.js";
import { verdicts } from "../permissions/rule-text.js";
import { shortRule } from "../permissions/tool-version.js";
import type { Terminal } from "../terminal.js";
import { visible } from "../text.js";
import { userName } from "../user-name.js";

export type PermissionsOptions = { readonly root?: string; readonly json?: true; readonly user?: true };

function permissionsOf({ root = "." }: PermissionsOptions) {
  const place = { root: realFolder(root), home: homeOf(process.env) };
  const { unasked } = agentSettings(configurationInForce(place));
  return createPermissions({ allowAll: false, ...place, reading: unasked });
}

export function list(options: PermissionsOptions, terminal: Terminal): number {
  const rules = permissionsOf(options).rules();
  if (options.json === true) for (const rule of rules) terminal.json(plainRule(rule));
  else if (rules.length === 0)
    terminal.out("No rule has been kept. Tools and commands that only read run; everything else asks.\n");
  else for (const rule of rules) terminal.out(`${visible(ruleText(rule))}\n${noteLine(rule)}`);
  return exitCodes.done;
}

function noteLine(rule: Rule): string {
  const note = noteOfRule(rule);
  return note === null ? "" : `       ${visible(note)}\n`;
}

function plainRule(rule: Rule) {
  const { by, at, call } = rule;
  const note = noteOfRule(rule);
  const { pattern, ...record } = recordOf(rule);
  return {
    rule: pattern,
    ...record,
    ...(by === undefined ? {} : { by }),
    ...(at === undefined ? {} : { at }),
    ...(call === undefined ? {} : { call }),
    ...(note === null ? {} : { note }),
  };
}

export async function add(
  verdict: string,
  rule: string,
  options: PermissionsOptions,
  terminal: Terminal,
): Promise<number> {
  const known = verdicts.find((one) => one === verdict);
  if (known === undefined)
    throw new PawlError("bad_input", `A rule does not ${JSON.stringify(verdict)}. Say allow, ask or deny.`);
  const place = { permissions: permissionsOf(options), session: null, by: userName() };
  const kept = await keepRule(place, options.user === true ? "user" : "project", known, { rule });
  if (options.json === true) terminal.json(plainRule(kept));
  else terminal.out(`${visible(ruleText(kept))}\n${noteLine(kept)}`);
  return exitCodes.done;
}

export async function remove(text: string, options: PermissionsOptions, terminal: Terminal): Promise<number> {
  const permissions = permissionsOf(options);
  const found = permissions.rules().filter((rule) => isCalled(rule, text.trim()));
  if (found.length === 0)
    throw new PawlError(
      "bad_input",
      `No rule ${JSON.stringify(text)} has been kept. "pawl permissions" lists the rules.`,
    );
  for (const rule of found) {
    if (!(await dropRule({ permissions, session: null, by: userName() }, rule)))
      throw new PawlError("bad_input", `${visible(rule.rule)} is a rule of the folder. Change its pawl.config.json.`);
    if (options.json === true) terminal.json(plainRule(rule));
    else terminal.out(`Removed: ${visible(ruleText(rule))}\n`);
  }
  return exitCodes.done;
}

/** As it is listed, as it is kept, or by its tool if it is for a version. */
function isCalled({ rule, tool, version }: Rule, text: string): boolean {
  return rule === text || shortRule(rule) === text || (version !== undefined && tool === text);
}

export async function test(line: string, options: PermissionsOptions, terminal: Terminal): Promise<number> {
  const permissions = permissionsOf(options);
  if (options.json !== true) terminal.out(`${visible(await testedLine(permissions, line))}\n`);
  else {
    const { verdict, rule, why } = await permissions.decide({
      tool: "shell",
      readOnly: false,
      input: { command: line },
    });
    terminal.json({
      verdict,
      ...(rule === undefined ? {} : { rule: plainRule(rule) }),
      ...(why === undefined ? {} : { why }),
    });
  }
  return exitCodes.done;
}
