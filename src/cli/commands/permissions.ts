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
import { userHome } from "../permissions/path-pattern.js";
import { createPermissions, openRuleFiles, type Permissions } from "../permissions/permissions.js";
import { parseRule, type Rule, toPermissionRule } from "../permissions/rule.js";
import { findRuleNote } from "../permissions/rule-note.js";
import { type StoredRule, verdicts } from "../permissions/rule-types.js";
import { removeRule, saveRule } from "../permissions/save-rule.js";
import { shortenRule } from "../permissions/tool-version.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";

export type PermissionsOptions = { readonly root?: string; readonly json?: true; readonly user?: true };

const resolveFolders = ({ root = "." }: PermissionsOptions) => ({
  root: resolveFolder(root),
  home: resolveHome(process.env),
});

function createFolderPermissions(options: PermissionsOptions) {
  const folders = resolveFolders(options);
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
  // A rule that cannot be read keeps the permissions from being created, and must be removable.
  const files = openRuleFiles(resolveFolders(options));
  const matchingRules = listKeptRules(files).filter(({ rule }) => isRuleNamed(rule, text.trim()));
  if (matchingRules.length === 0) {
    const { permissions } = createFolderPermissions(options);
    const elsewhere = permissions.rules().find(({ rule }) => isRuleNamed(rule, text.trim()));
    throw new PawlError(
      "bad_input",
      elsewhere === undefined
        ? `There is no rule ${JSON.stringify(text)}. "pawl permissions" lists the rules.`
        : `${sanitize(elsewhere.rule)} comes from a configuration file: "pawl config" shows which. Change it there.`,
    );
  }
  for (const kept of matchingRules) {
    await removeRule({ permissions: { files }, session: null, by: resolveUserName() }, kept);
    if (options.json === true) terminal.json(toPlainKeptRule(kept));
    else terminal.out(`Removed: ${sanitize(formatRule(kept))}\n`);
  }
  return exitCodes.done;
}

type KeptRule = StoredRule & Pick<Rule, "verdict" | "scope">;

/** The stored rules, whether they can be read or not. */
function listKeptRules(files: Permissions["files"]): readonly KeptRule[] {
  return (["project", "user"] as const).flatMap((scope) => {
    const lists = files[scope].read();
    return verdicts.flatMap((verdict) => (lists[verdict] ?? []).map((kept) => ({ ...kept, verdict, scope })));
  });
}

/** A rule that cannot be read is printed as it is stored. */
function toPlainKeptRule(kept: KeptRule): object {
  try {
    return toPlainRule(parseRule(kept.verdict, kept, kept.scope, userHome));
  } catch {
    return kept;
  }
}

/** Matches a rule by its listed form, its stored form, or, for a rule about a tool version, by the name of the tool. */
function isRuleNamed(rule: string, text: string): boolean {
  const [, tool] = /^(mcp__[\w-]+)@[0-9a-f]{64}$/.exec(rule.trim()) ?? [];
  return [rule.trim(), shortenRule(rule.trim()), tool].includes(text);
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
