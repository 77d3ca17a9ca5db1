/**
 * `pawl acp`: the agent of the command line in an editor, over standard input and output.
 *
 * Standard output carries the protocol. Messages for a person go to standard error, which editors log.
 */
import { randomUUID } from "node:crypto";
import { Readable, Writable } from "node:stream";
import { type Agent, createClient } from "../../index.js";
import { type AcpAgent, acpPackage, importAcpSdk, serveAcp } from "../../protocols/acp/index.js";
import { chooseHooks, toAgentChoices } from "../agent/agent-choices.js";
import { agentName } from "../agent/agent-name.js";
import { chooseConfiguredModel } from "../agent/choose-model.js";
import { chooseOtherModels } from "../agent/choose-other-models.js";
import { createFolderAgent, findMissingTools } from "../agent/folder-agent.js";
import { hashAgentFiles, resolveAgents } from "../child-agents/resolve-agents.js";
import { type ResolvedConfiguration, resolveConfiguration } from "../configuration/resolve-configuration.js";
import { resolveUserName } from "../decisions/user-name.js";
import { exitCodes, formatError } from "../exit.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { openStore } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import { hashHooks } from "../hooks/resolve-hooks.js";
import { installCommand } from "../installation.js";
import { resolveServers } from "../mcp/resolve-servers.js";
import { formatServerNotes, type StartedServers, startServers } from "../mcp/start-servers.js";
import { createRuleChoices } from "../permissions/rule-choices.js";
import { loadSessionData } from "../permissions/save-rule.js";
import { createTopSessions } from "../permissions/top-sessions.js";
import type { DriveOptions } from "../run/drive-session.js";
import { listenForInterruptions } from "../terminal/interruptions.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";

export type AcpCommandOptions = Omit<DriveOptions, "json">;

/** The grace period of running tools when the editor disconnects; milliseconds. */
const graceMs = 5_000;

export async function acp(options: AcpCommandOptions, version: string, terminal: Terminal): Promise<number> {
  const sdk = await importAcpSdk(installCommand(acpPackage));
  const { stop, shutdown } = listenForInterruptions(terminal);
  const home = resolveHome(process.env);
  const store = await openStore(home, { creates: true });
  const printMessage = (text: string) => terminal.err(`${sanitize(terminal.redaction.text(text))}\n`);
  const agents = createAgents({ store, home, options, printMessage });
  try {
    const connection = serveAcp(
      sdk,
      {
        store,
        info: { name: agentName, title: "Pawl", version },
        agentFor: agents.of,
        makeId: randomUUID,
        by: resolveUserName(),
        redaction: terminal.redaction,
        report: (what) => printMessage(typeof what === "string" ? what : formatError(what, false)),
      },
      sdk.ndJsonStream(
        Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
        Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
      ),
    );
    for (const signal of [stop, shutdown]) {
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
  readonly printMessage: (text: string) => void;
};

/**
 * Creates one agent for each folder and model, and a new one when agent files or their trust change. The rules that a person adds last as
 * long as the process.
 */
function createAgents({ store, home, options, printMessage }: AgentsOptions) {
  const agentsByKey = new Map<string, Promise<AcpAgent>>();
  const running = new Set<Agent>();
  const topSessions = createTopSessions(store);
  const servers = new Map<string, Promise<StartedServers>>();

  /** Starts the servers of a folder once, for all models. */
  function getServers(
    root: string,
    { trust }: ResolvedConfiguration = resolveConfiguration({ root, home }),
  ): Promise<StartedServers> {
    const starting = servers.get(root) ?? startServers(resolveServers({ root, home }, trust), root).then(reportServers);
    servers.set(root, starting);
    return starting;
  }

  function reportServers(started: StartedServers): StartedServers {
    for (const line of formatServerNotes(started)) printMessage(line);
    return started;
  }

  async function createAcpAgent(root: string, name: string | undefined): Promise<AcpAgent> {
    const configured = resolveConfiguration({ root, home });
    const { model, timeouts, why } = await chooseConfiguredModel(name ?? configured.model, options, configured);
    printMessage(why);
    if (configured.warning !== null) printMessage(configured.warning);
    const choices = toAgentChoices(options, { root, home }, configured);
    const started = await getServers(root, configured);
    const { agents, fallbacks, problems } = await chooseOtherModels(configured, options, model);
    for (const problem of problems) printMessage(problem);
    const agent = createFolderAgent({
      store,
      home,
      model,
      timeouts,
      root,
      ...choices,
      servers: started,
      agents,
      fallbacks,
    });
    running.add(agent);
    const { contextWindow = model.contextWindow } = options;
    const { permissions } = choices;
    const by = resolveUserName();
    return {
      agent,
      async isAllowed({ name, input, question, sessionId }) {
        const data = (await loadSessionData(createClient({ store }).session(sessionId))) ?? {};
        return await permissions.isAllowed({ name, input, question }, await topSessions.find({ sessionId, data }));
      },
      rulesFor: (call, sessionId) =>
        createRuleChoices(call, {
          permissions,
          by,
          session: agent.session(sessionId),
          scopes: ["session", "project"],
          offersDenial: true,
        }),
      ...(contextWindow === undefined ? {} : { contextWindow }),
    };
  }

  return {
    async of(folder: string, session: { readonly id: string; readonly model: string } | null): Promise<AcpAgent> {
      const root = resolveFolder(folder);
      const configured = resolveConfiguration({ root, home });
      const { list: agents } = resolveAgents(configured.trust);
      if (session !== null) {
        const { allowShell } = toAgentChoices(options, { root, home }, configured);
        const started = await getServers(root, configured);
        await findMissingTools({ store, home, root, allowShell, sessionId: session.id, servers: started, agents });
      }
      const name = options.model ?? session?.model;
      const key = JSON.stringify([
        root,
        name ?? "",
        hashAgentFiles(agents),
        hashHooks(chooseHooks(options, configured)),
      ]);
      const agent = agentsByKey.get(key) ?? createAcpAgent(root, name);
      agentsByKey.set(key, agent);
      // The failure may be temporary, for example a missing key. The next session tries again.
      agent.catch(() => agentsByKey.delete(key));
      return agent;
    },
    shutdown: async () => {
      await Promise.all([...running].map((agent) => agent.shutdown({ graceMs })));
      for (const started of servers.values()) await (await started).close();
    },
  };
}
