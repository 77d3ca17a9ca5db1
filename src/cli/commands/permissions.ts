/**
 * `pawl permissions`: the rules that a person has stored for a folder, and those for all folders.
 */
import { PawlError } from "../../index.js";
import { openCommandSandbox } from "../agent/command-sandbox.js";
import { toAgentSettings } from "../configuration/agent-settings.js";
import { resolveConfiguration } from "../configuration/resolve-configuration.js";
import { resolveUserName } from "../decisions/user-name.js";
import { exitCodes } from "../exit.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { resolveHome } from "../files/store-location.js";
import { formatRule, formatTestedLine } from "../permissions/format-rule.js";
import { createPermissions } from "../permissions/permissions.js";
import { type Rule, toPermissionRule } from "../permissions/rule.js";
import { findRuleNote } from "../permissions/rule-note.js";
import { verdicts } from "../permissions/rule-types.js";
import { removeRule, saveRule } from "../permissions/save-rule.js";
import { shortenRule } from "../permissions/tool-version.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";

export type PermissionsOptions = { readonly root?: string; readonly json?: true; readonly user?: true };

function createFolderPermissions({ root = "." }: PermissionsOptions) {
  const folders = { root: resolveFolder(root), home: resolveHome(process.env) };
  const { unasked, sandbox } = toAgentSettings(resolveConfiguration(folders));
  const permissions = createPermissions({ allowAll: false, ...folders, reading: unasked, ask: sandbox.ask });
  return { permissions, openSandbox: () => openCommandSandbox(folders, sandbox, permissions) };
}

export function list(options: PermissionsOptions, terminal: Terminal): number {
  const rules = createFolderPermissions(options).permissions.rules();
  if (options.json === true) for (const rule of rules) terminal.json(toPlainRule(rule));
  else if (rules.length === 0)
    terminal.out("No rules are stored. Tools and commands that only read run without asking; everything else asks.\n");
  else for (const rule of rules) terminal.out(`${sanitize(formatRule(rule))}\n${formatNoteLine(rule)}`);
  return exitCodes.done;
}

function formatNoteLine(rule: Rule): string {
  const note = findRuleNote(rule);
  return note === null ? "" : `       ${sanitize(note)}\n`;
}

function toPlainRule(rule: Rule) {
  const { by, at, call } = rule;
  const note = findRuleNote(rule);
  const { pattern, ...record } = toPermissionRule(rule);
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
  const parsedVerdict = verdicts.find((one) => one === verdict);
  if (parsedVerdict === undefined)
    throw new PawlError("bad_input", `Invalid verdict ${JSON.stringify(verdict)}: expected allow, ask or deny.`);
  const target = { permissions: createFolderPermissions(options).permissions, session: null, by: resolveUserName() };
  const storedRule = await saveRule(target, options.user === true ? "user" : "project", parsedVerdict, { rule });
  if (options.json === true) terminal.json(toPlainRule(storedRule));
  else terminal.out(`${sanitize(formatRule(storedRule))}\n${formatNoteLine(storedRule)}`);
  return exitCodes.done;
}

export async function remove(text: string, options: PermissionsOptions, terminal: Terminal): Promise<number> {
  const { permissions } = createFolderPermissions(options);
  const matchingRules = permissions.rules().filter((rule) => isRuleNamed(rule, text.trim()));
  if (matchingRules.length === 0)
    throw new PawlError("bad_input", `There is no rule ${JSON.stringify(text)}. "pawl permissions" lists the rules.`);
  for (const rule of matchingRules) {
    if (!(await removeRule({ permissions, session: null, by: resolveUserName() }, rule)))
      throw new PawlError(
        "bad_input",
        `${sanitize(rule.rule)} comes from the folder. Change the folder's pawl.config.json.`,
      );
    if (options.json === true) terminal.json(toPlainRule(rule));
    else terminal.out(`Removed: ${sanitize(formatRule(rule))}\n`);
  }
  return exitCodes.done;
}

/** Matches a rule by its listed form, its stored form, or, for a rule about a tool version, by the name of the tool. */
function isRuleNamed({ rule, tool, version }: Rule, text: string): boolean {
  return rule === text || shortenRule(rule) === text || (version !== undefined && tool === text);
}

export async function test(line: string, options: PermissionsOptions, terminal: Terminal): Promise<number> {
  const { permissions, openSandbox } = createFolderPermissions(options);
  // Whether a command asks may depend on whether there is a sandbox.
  permissions.useSandbox(openSandbox());
  if (options.json !== true) terminal.out(`${sanitize(await formatTestedLine(permissions, line))}\n`);
  else {
    const { verdict, rule, why } = await permissions.decide({
      tool: "shell",
      readOnly: false,
      input: { command: line },
    });
    terminal.json({
      verdict,
      ...(rule === undefined ? {} : { rule: toPlainRule(rule) }),
      ...(why === undefined ? {} : { why }),
    });
  }
  return exitCodes.done;
}
