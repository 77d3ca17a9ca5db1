/**
 * `pawl acp`: the agent of the command line in an editor, over standard input and output.
 *
 * Standard output belongs to the protocol. What is for a person goes to standard error, where editors keep a log.
 */
import { randomUUID } from "node:crypto";
import { Readable, Writable } from "node:stream";
import type { Agent } from "../../index.js";
import { type AcpAgent, acpPackage, importAcpSdk, serveAcp } from "../../protocols/acp/index.js";
import { chooseForCommand } from "../choose-model.js";
import { configurationInForce, type InForce } from "../configuration/in-force.js";
import { type DriveOptions, realFolder } from "../drive-session.js";
import { describeError, exitCodes } from "../exit.js";
import { agentName, createFolderAgent, folderChoices, missingTools } from "../folder-agent.js";
import { homeOf, openStore } from "../home.js";
import { installCommand } from "../installation.js";
import { listenForInterruptions } from "../interruptions.js";
import { serversInForce } from "../mcp/servers-in-force.js";
import { type StartedServers, serverNotes, startServers } from "../mcp/start-servers.js";
import { dataOf } from "../permissions/keep.js";
import { picksFor } from "../permissions/rule-choices.js";
import type { Terminal } from "../terminal.js";
import { visible } from "../text.js";
import { userName } from "../user-name.js";

export type AcpCommandOptions = Omit<DriveOptions, "json">;

/** How long tools that run may take to finish when the editor leaves; milliseconds. */
const graceMs = 5_000;

export async function acp(options: AcpCommandOptions, version: string, terminal: Terminal): Promise<number> {
  const sdk = await importAcpSdk(installCommand(acpPackage));
  const { stop, leave } = listenForInterruptions(terminal);
  const home = homeOf(process.env);
  const store = await openStore(home, { creates: true });
  const say = (text: string) => terminal.err(`${visible(terminal.redaction.text(text))}\n`);
  const agents = createAgents({ store, home, options, say });
  try {
    const connection = serveAcp(
      sdk,
      {
        store,
        info: { name: agentName, title: "Pawl", version },
        agentFor: agents.of,
        makeId: randomUUID,
        by: userName(),
        redaction: terminal.redaction,
        report: (what) => say(typeof what === "string" ? what : describeError(what, false)),
      },
      sdk.ndJsonStream(
        Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
        Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
      ),
    );
    for (const signal of [stop, leave]) {
      signal.addEventListener("abort", () => connection.close(), { once: true });
      if (signal.aborted) connection.close();
    }
    await connection.closed;
    await agents.shutdown();
    return exitCodes.done;
  } finally {
    await store.close();
  }
}

type AgentsOptions = Pick<Parameters<typeof createFolderAgent>[0], "store" | "home"> & {
  readonly options: AcpCommandOptions;
  readonly say: (text: string) => void;
};

/** One agent for each folder and model. What a person allows for good holds for it, until the process ends. */
function createAgents({ store, home, options, say }: AgentsOptions) {
  const made = new Map<string, Promise<AcpAgent>>();
  const running = new Set<Agent>();
  const servers = new Map<string, Promise<StartedServers>>();

  /** The servers of a folder are started once, whatever the model. */
  function serversOf(root: string, { trust }: InForce = configurationInForce({ root, home })): Promise<StartedServers> {
    const known = servers.get(root) ?? startServers(serversInForce({ root, home }, trust), root).then(tell);
    servers.set(root, known);
    return known;
  }

  function tell(started: StartedServers): StartedServers {
    for (const line of serverNotes(started)) say(line);
    return started;
  }

  async function make(root: string, name: string | undefined): Promise<AcpAgent> {
    const configured = configurationInForce({ root, home });
    const { model, timeouts, why } = await chooseForCommand(name ?? configured.model, options, configured);
    say(why);
    if (configured.notice !== null) say(configured.notice);
    const choices = folderChoices(options, { root, home }, configured);
    const started = await serversOf(root, configured);
    const agent = createFolderAgent({ store, home, model, timeouts, root, ...choices, servers: started });
    running.add(agent);
    const { contextWindow = model.contextWindow } = options;
    const { permissions } = choices;
    const by = userName();
    return {
      agent,
      async isAllowed({ name, input, sessionId }) {
        const data = (await dataOf(agent.session(sessionId))) ?? {};
        return await permissions.isAllowed({ name, input }, { sessionId, data });
      },
      rulesFor: (call, sessionId) =>
        picksFor(call, { permissions, session: agent.session(sessionId), by, scopes: ["session", "project"] }),
      ...(contextWindow === undefined ? {} : { contextWindow }),
    };
  }

  return {
    async of(folder: string, session: { readonly id: string; readonly model: string } | null): Promise<AcpAgent> {
      const root = realFolder(folder);
      if (session !== null) {
        const { allowShell } = folderChoices(options, { root, home });
        const started = await serversOf(root);
        await missingTools({ store, home, root, allowShell, sessionId: session.id, servers: started });
      }
      const name = options.model ?? session?.model;
      const key = JSON.stringify([root, name ?? ""]);
      const agent = made.get(key) ?? make(root, name);
      made.set(key, agent);
      // The failure may pass, for example a missing key. The next session tries again.
      agent.catch(() => made.delete(key));
      return agent;
    },
    shutdown: async () => {
      await Promise.all([...running].map((agent) => agent.shutdown({ graceMs })));
      for (const started of servers.values()) await (await started).close();
    },
  };
}
