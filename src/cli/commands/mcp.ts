/**
 * `pawl mcp`: the agent of the command line as a tool of an MCP server, over standard input and output.
 */

import { randomUUID } from "node:crypto";
import { getErrorMessage } from "../../core/data/error-message.js";
import { carryOn, importMcpSdk, mcpPackage, serveMcp } from "../../protocols/mcp-server/index.js";
import { toAgentChoices } from "../agent/agent-choices.js";
import { agentName } from "../agent/agent-name.js";
import { chooseConfiguredModel } from "../agent/choose-model.js";
import { chooseOtherModels } from "../agent/choose-other-models.js";
import { createFolderAgent } from "../agent/folder-agent.js";
import { resolveConfiguration } from "../configuration/resolve-configuration.js";
import { resolveUserName } from "../decisions/user-name.js";
import { exitCodes, formatError } from "../exit.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { openStore, shortId } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import { installCommand } from "../installation.js";
import type { DriveOptions } from "../run/drive-session.js";
import { listenForInterruptions } from "../terminal/interruptions.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";

export type McpCommandOptions = Omit<DriveOptions, "json"> & { readonly root?: string };

/** The grace period of running tools when the client disconnects; milliseconds. */
const graceMs = 5_000;

export async function mcp(options: McpCommandOptions, version: string, terminal: Terminal): Promise<number> {
  const sdk = await importMcpSdk(installCommand(mcpPackage));
  const { stop, shutdown } = listenForInterruptions(terminal);
  const home = resolveHome(process.env);
  const root = resolveFolder(options.root ?? ".");
  const configured = resolveConfiguration({ root, home });
  const { model, timeouts, why } = await chooseConfiguredModel(options.model ?? configured.model, options, configured);
  const printMessage = (text: string) => terminal.err(`${sanitize(terminal.redaction.text(text))}\n`);
  if (configured.warning !== null) printMessage(configured.warning);
  printMessage(why);
  const store = await openStore(home, { creates: true });
  try {
    const choices = toAgentChoices(options, { root, home }, configured);
    const { agents, fallbacks, problems } = await chooseOtherModels(configured, options, model);
    for (const problem of problems) printMessage(problem);
    const agent = createFolderAgent({ store, home, model, timeouts, root, ...choices, agents, fallbacks });
    const description = `Runs an agent on the files of the folder ${root}. It reads, searches and edits them, and answers with what it found or changed.`;
    const report = (error: unknown) => printMessage(formatError(error, false));
    const host = {
      info: { name: agentName, version },
      tools: [{ name: agentName, description }],
      openSession: async (_: string, id: string = randomUUID()) => agent.session(id),
      findSession: async (id: string) => ((await store.describe(id)) === null ? null : agent.session(id)),
      carryOn: ({ id }: { readonly id: string }) => carryOn(agent.session(id)),
      makeId: randomUUID,
      by: resolveUserName(),
      whereToAnswer: (id: string) => `Answer with: pawl resume ${sanitize(shortId(id))}`,
      redaction: terminal.redaction,
      explainError(error: unknown) {
        report(error);
        const message = getErrorMessage(error);
        return sanitize(terminal.redaction.text(message));
      },
      report,
    };
    await serveMcp(sdk, host, AbortSignal.any([stop, shutdown]));
    await agent.shutdown({ graceMs });
    return exitCodes.done;
  } finally {
    await store.close();
  }
}
