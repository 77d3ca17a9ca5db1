/**
 * `pawl mcp`: the agent of the command line as a tool of an MCP server, over standard input and output.
 */
import { randomUUID } from "node:crypto";
import { carryOn, importMcpSdk, mcpPackage, serveMcp } from "../../protocols/mcp-server/index.js";
import { chooseForCommand } from "../choose-model.js";
import { configurationInForce } from "../configuration/in-force.js";
import { type DriveOptions, realFolder } from "../drive-session.js";
import { describeError, exitCodes } from "../exit.js";
import { agentName, createFolderAgent, folderChoices } from "../folder-agent.js";
import { homeOf, openStore, shortId } from "../home.js";
import { installCommand } from "../installation.js";
import { listenForInterruptions } from "../interruptions.js";
import type { Terminal } from "../terminal.js";
import { visible } from "../text.js";
import { userName } from "../user-name.js";

export type McpCommandOptions = Omit<DriveOptions, "json"> & { readonly root?: string };

/** How long tools that run may take to finish when the client leaves; milliseconds. */
const graceMs = 5_000;

export async function mcp(options: McpCommandOptions, version: string, terminal: Terminal): Promise<number> {
  const sdk = await importMcpSdk(installCommand(mcpPackage));
  const { stop, leave } = listenForInterruptions(terminal);
  const home = homeOf(process.env);
  const root = realFolder(options.root ?? ".");
  const configured = configurationInForce({ root, home });
  const { model, timeouts, why } = await chooseForCommand(options.model ?? configured.model, options, configured);
  const say = (text: string) => terminal.err(`${visible(terminal.redaction.text(text))}\n`);
  if (configured.notice !== null) say(configured.notice);
  say(why);
  const store = await openStore(home, { creates: true });
  try {
    const choices = folderChoices(options, { root, home }, configured);
    const agent = createFolderAgent({ store, home, model, timeouts, root, ...choices });
    const description = `Runs an agent on the files of the folder ${root}. It reads, searches and edits them, and answers with what it found or changed.`;
    const host = {
      info: { name: agentName, version },
      agents: [{ name: agentName, description }],
      openSession: async (_: string, id: string = randomUUID()) => agent.session(id),
      carryOn: ({ id }: { readonly id: string }) => carryOn(agent.session(id)),
      makeId: randomUUID,
      by: userName(),
      whereToAnswer: (id: string) => `Answer with: pawl resume ${shortId(id)}`,
      redaction: terminal.redaction,
      report: (error: unknown) => say(describeError(error, false)),
    };
    await serveMcp(sdk, host, AbortSignal.any([stop, leave]));
    await agent.shutdown({ graceMs });
    return exitCodes.done;
  } finally {
    await store.close();
  }
}
