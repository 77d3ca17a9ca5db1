/**
 * `pawl config`: what is in force in a folder, and which file says so.
 */

import { join } from "node:path";
import { nearestName } from "../../core/index.js";
import { PawlError } from "../../index.js";
import { commandRecord, commandsInForce } from "../configuration/commands-in-force.js";
import { configurationName } from "../configuration/configuration.js";
import { configurationInForce } from "../configuration/in-force.js";
import { linesInForce, settingsOf, shownValue } from "../configuration/shown.js";
import { configurationOf } from "../configuration-folder.js";
import { realFolder } from "../drive-session.js";
import { exitCodes } from "../exit.js";
import { homeOf } from "../home.js";
import { packageFile } from "../installation.js";
import { serverRecord } from "../mcp/server-line.js";
import { serversInForce } from "../mcp/servers-in-force.js";
import { createPermissions } from "../permissions/permissions.js";
import { projectFolder } from "../permissions/project.js";
import type { Terminal } from "../terminal.js";
import { visible } from "../text.js";

export type ConfigOptions = { readonly root?: string; readonly json?: true };

function placeOf({ root = "." }: ConfigOptions) {
  return { root: realFolder(root), home: homeOf(process.env) };
}

export function config(options: ConfigOptions, terminal: Terminal): number {
  const place = placeOf(options);
  const present = configurationInForce(place);
  const rules = createPermissions({ ...place, allowAll: false }).rules();
  const servers = serversInForce(place, present.trust);
  const commands = commandsInForce(present.trust).all;
  if (options.json === true)
    terminal.json({
      settings: settingsOf(present),
      rules: rules.map(({ verdict, rule, scope }) => ({ verdict, rule, scope })),
      servers: servers.map(serverRecord),
      commands: commands.map(commandRecord),
      ...(present.notice === null ? {} : { off: present.notice }),
    });
  else {
    for (const line of linesInForce(present, rules, servers, commands)) terminal.out(`${line}\n`);
    if (present.notice !== null) terminal.err(`${visible(present.notice)}\n`);
  }
  return exitCodes.done;
}

export function get(key: string, options: ConfigOptions, terminal: Terminal): number {
  const { settings } = configurationInForce(placeOf(options));
  const found = settings.find((setting) => setting.key === key);
  if (found === undefined) {
    const near = nearestName(
      key,
      settings.map((setting) => setting.key),
    );
    throw new PawlError(
      "bad_input",
      `${visible(key)} is not set.${near === undefined ? ' "pawl config" lists what is.' : ` Did you mean ${near}?`}`,
    );
  }
  if (options.json === true) terminal.json(found);
  else terminal.out(`${visible(shownValue(found.value))}\n`);
  return exitCodes.done;
}

export function path(options: ConfigOptions, terminal: Terminal): number {
  const { root, home } = placeOf(options);
  const files = {
    user: join(configurationOf(process.env), configurationName),
    folder: join(root, configurationName),
    project: join(projectFolder(home, root), configurationName),
  };
  if (options.json === true) terminal.json({ ...files, schema: packageFile("docs/pawl.config.schema.json") });
  else for (const file of Object.values(files)) terminal.out(`${visible(file)}\n`);
  return exitCodes.done;
}

/** Reads everything; what cannot be used is an error that says why. */
export function check(options: ConfigOptions, terminal: Terminal): number {
  const place = placeOf(options);
  const { user, project, trust, notice } = configurationInForce(place);
  createPermissions({ ...place, allowAll: false });
  const servers = serversInForce(place, trust);
  const commands = commandsInForce(trust);
  const paths = [
    user?.path,
    project?.path,
    ...trust.files.map((file) => file.path),
    ...[...servers, ...commands.all].map((one) => one.path),
  ];
  const files = [...new Set(paths)].filter((one) => one !== undefined);
  const { problems } = commands;
  if (options.json === true) terminal.json({ ok: true, files, problems, ...(notice === null ? {} : { off: notice }) });
  else {
    const none = "There is no pawl.config.json, no file of MCP servers and no command in a file.";
    const lines = [
      files.length === 0 ? none : `Well: ${files.map(visible).join(", ")}`,
      ...[...problems, ...(notice === null ? [] : [notice])].map(visible),
    ];
    for (const line of lines) terminal.out(`${line}\n`);
  }
  return exitCodes.done;
}
