/**
 * `pawl config`: the settings that apply in a folder, and the file that each comes from.
 */

import { join } from "node:path";
import { PawlError } from "../../index.js";
import {
  describeMisspelledAgents,
  listConfiguredAgents,
  resolveAgents,
  toAgentRecord,
} from "../child-agents/resolve-agents.js";
import { createUnknownKeyError } from "../configuration/change.js";
import { configurationName, settingNames } from "../configuration/configuration.js";
import { formatConfiguration, formatSettingValue, listChangedSettings } from "../configuration/format-configuration.js";
import { resolveCommands, toCommandRecord } from "../configuration/resolve-commands.js";
import { describeUnknownTools, resolveConfiguration } from "../configuration/resolve-configuration.js";
import { exitCodes } from "../exit.js";
import { resolveUserConfigurationFolder } from "../files/configuration-folder.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { resolveHome } from "../files/store-location.js";
import { listHooks, toHookRecord } from "../hooks/resolve-hooks.js";
import { resolvePackageFile } from "../installation.js";
import { toServerRecord } from "../mcp/format-server.js";
import { resolveServers } from "../mcp/resolve-servers.js";
import { createPermissions } from "../permissions/permissions.js";
import { resolveProjectFolder } from "../permissions/project-folder.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";

export type ConfigOptions = { readonly root?: string; readonly json?: true };

function resolveFolders({ root = "." }: ConfigOptions) {
  return { root: resolveFolder(root), home: resolveHome(process.env) };
}

export function config(options: ConfigOptions, terminal: Terminal): number {
  const folders = resolveFolders(options);
  const configured = resolveConfiguration(folders);
  const rules = createPermissions({ ...folders, allowAll: false }).rules();
  const servers = resolveServers(folders, configured.trust);
  const commands = resolveCommands(configured.trust).all;
  const agents = listConfiguredAgents(configured);
  const hooks = listHooks(configured.trust);
  if (options.json === true)
    terminal.json({
      settings: listChangedSettings(configured),
      rules: rules.map(({ verdict, rule, scope }) => ({ verdict, rule, scope })),
      servers: servers.map(toServerRecord),
      commands: commands.map(toCommandRecord),
      agents: agents.map(toAgentRecord),
      hooks: hooks.map(toHookRecord),
      ...(configured.warning === null ? {} : { off: configured.warning }),
    });
  else {
    for (const line of formatConfiguration(configured, rules, servers, commands, agents, hooks))
      terminal.out(`${line}\n`);
    if (configured.warning !== null) terminal.err(`${sanitize(configured.warning)}\n`);
  }
  return exitCodes.done;
}

export function get(key: string, options: ConfigOptions, terminal: Terminal): number {
  const { settings } = resolveConfiguration(resolveFolders(options));
  const found = settings.find((setting) => setting.key === key);
  if (found === undefined) {
    if (settingNames.includes(key))
      throw new PawlError("bad_input", `${key} is not set. To set it: pawl config set ${key} VALUE`);
    throw createUnknownKeyError(key, [...settingNames, ...settings.map((setting) => setting.key)]);
  }
  if (options.json === true) terminal.json(found);
  else terminal.out(`${sanitize(formatSettingValue(found.value))}\n`);
  return exitCodes.done;
}

export function path(options: ConfigOptions, terminal: Terminal): number {
  const { root, home } = resolveFolders(options);
  const files = {
    user: join(resolveUserConfigurationFolder(process.env), configurationName),
    folder: join(root, configurationName),
    project: join(resolveProjectFolder(home, root), configurationName),
  };
  if (options.json === true) terminal.json({ ...files, schema: resolvePackageFile("docs/pawl.config.schema.json") });
  else for (const file of Object.values(files)) terminal.out(`${sanitize(file)}\n`);
  return exitCodes.done;
}

/** Reads the whole configuration. Throws an error that says why a part of it is invalid. */
export function check(options: ConfigOptions, terminal: Terminal): number {
  const folders = resolveFolders(options);
  const configured = resolveConfiguration(folders);
  const { user, project, trust, warning } = configured;
  createPermissions({ ...folders, allowAll: false });
  const servers = resolveServers(folders, trust);
  const commands = resolveCommands(trust);
  const agents = resolveAgents(trust);
  const hooks = listHooks(trust);
  const paths = [
    user?.path,
    project?.path,
    ...trust.files.map((file) => file.path),
    ...[...servers, ...commands.all, ...agents.all, ...hooks].map((one) => one.path),
  ];
  const files = [...new Set(paths)].filter((one) => one !== undefined);
  const problems = [
    ...commands.problems,
    ...agents.problems,
    ...describeUnknownTools(configured),
    ...describeMisspelledAgents(configured, agents.all),
    // A server that is only disabled or not trusted has a transport.
    ...servers.flatMap(({ name, path, transport, off }) =>
      transport === null ? [`The MCP server ${name} in ${path} is off: ${off}.`] : [],
    ),
  ];
  if (options.json === true)
    terminal.json({ ok: true, files, problems, ...(warning === null ? {} : { off: warning }) });
  else {
    const emptyNote = "There is no pawl.config.json, no MCP servers file, and no file with a command, agent or hook.";
    const lines = [
      ...(files.length > 0 ? [`Valid: ${files.map(sanitize).join(", ")}`] : problems.length > 0 ? [] : [emptyNote]),
      ...[...problems, ...(warning === null ? [] : [warning])].map(sanitize),
    ];
    for (const line of lines) terminal.out(`${line}\n`);
  }
  return exitCodes.done;
}
