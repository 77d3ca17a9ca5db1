/**
 * A folder with hooks in files, and the folder's agent with a scripted model.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { createFolderAgent } from "../../../src/cli/agent/folder-agent.js";
import { resolveAgents } from "../../../src/cli/child-agents/resolve-agents.js";
import { toAgentSettings } from "../../../src/cli/configuration/agent-settings.js";
import { resolveConfiguration } from "../../../src/cli/configuration/resolve-configuration.js";
import { listHooks, resolveHooks } from "../../../src/cli/hooks/resolve-hooks.js";
import { createPermissions, type PermissionOptions } from "../../../src/cli/permissions/permissions.js";
import { readFolderTrust, trustFiles } from "../../../src/cli/trust/trust.js";
import { createMemoryStore, type Json, type PublicEvent } from "../../../src/index.js";
import { createScriptedModel, type Script } from "../../../src/testing/index.js";

type HookEntry = { readonly command: string; readonly [key: string]: Json };

/** The text of a `hooks.json` with one hook. */
export function hooksFile(event: string, entry: HookEntry, matcher?: string): string {
  const group = { ...(matcher === undefined ? {} : { matcher }), hooks: [{ type: "command", ...entry }] };
  return JSON.stringify({ hooks: { [event]: [group] } });
}

export function createHookWorld(files: Readonly<Record<string, string>> = {}) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "pawl-hooks-")));
  // The commands of hooks that nothing waits for may write for another moment.
  onTestFinished(() => rmSync(base, { recursive: true, force: true, maxRetries: 10 }));
  const [root, home] = [join(base, "root"), join(base, "home")];
  const environment = { XDG_CONFIG_HOME: join(base, "config") };
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  };
  write("root/notes.txt", "The notes say blue.\n");
  for (const [path, text] of Object.entries(files)) write(path, text);
  const read = (path: string) => (existsSync(join(base, path)) ? readFileSync(join(base, path), "utf8") : null);
  const readTrust = () => readFolderTrust(root, home);
  const trust = () => trustFiles(root, home, readTrust().files, "ada");
  const store = createMemoryStore();

  /** The agent as a process creates it when it starts. */
  function start(
    script: Script,
    rules: Pick<PermissionOptions, "allow" | "deny"> & { readonly child?: Script; readonly allowShell?: boolean } = {},
  ) {
    const { child = [], allowShell = false, ...lists } = rules;
    const model = createScriptedModel(script);
    const folderTrust = readTrust();
    const childModel = createScriptedModel(child);
    const agent = createFolderAgent({
      ...{ store, home, root, model },
      permissions: createPermissions({ allowAll: false, root, home, environment, ...lists }),
      settings: toAgentSettings(resolveConfiguration({ root, home, environment })),
      allowShell,
      contextFiles: false,
      hooks: resolveHooks(folderTrust, environment),
      agents: resolveAgents(folderTrust, environment).list.map((file) => ({
        file,
        model: { model: childModel, timeouts: {} },
      })),
    });
    return { agent, model, childModel };
  }

  async function listEvents(sessionId: string): Promise<readonly PublicEvent[]> {
    const { agent } = start([]);
    const events: PublicEvent[] = [];
    for await (const event of agent.session(sessionId).events({ live: false, follow: false }))
      if ("seq" in event) events.push(event as PublicEvent);
    return events;
  }

  return {
    ...{ base, root, home, environment, write, read, readTrust, trust, store, start, listEvents },
    list: () => listHooks(readTrust(), environment),
  };
}

export const call = (name: string, input: Json) => ({ calls: [{ name, input }] });
export const done = { text: "Done." };
