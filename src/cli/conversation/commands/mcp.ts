/**
 * `/mcp`: lists the MCP servers, their tools, and why some are off; shows a server's log; restarts a server; accepts its new tools,
 * and uses its resources and prompts. The tools of a session are fixed when a talk begins, so a restart begins a new talk with the
 * same session.
 */
import { PawlError } from "../../../index.js";
import { formatServer } from "../../mcp/format-server.js";
import { findServer } from "../../mcp/resolve-servers.js";
import { formatServerNotes, type StartedServer } from "../../mcp/start-servers.js";
import { type Line, lineOf, wrapLine } from "../../screen/line.js";
import { formatCount, toOneLine } from "../../terminal/text.js";
import { renderList } from "../lines/list-lines.js";
import { wrapNote } from "../lines/view-lines.js";
import { type CommandContext, createMustWaitLine, isAtWork, restartTalk } from "./command-context.js";
import { acceptServerTools, readServerResource, sendServerPrompt } from "./mcp-content.js";
import { showFullText } from "./show-full-text.js";

/** @param words empty, or a verb, the name of a server, and the verb's arguments */
export async function runMcpCommand(context: CommandContext, words: string): Promise<void> {
  const [, verb = "", name = "", more = ""] = /^(\S*)\s*(\S*)\s*([\s\S]*)$/.exec(words) ?? [];
  if (more !== "" && verb !== "read" && verb !== "prompt") throw createUsageError(words);
  switch (verb) {
    case "":
      return list(context);
    case "log":
      return await showLog(context, requireServer(context, name));
    case "restart":
      return await restart(context, requireServer(context, name));
    case "accept":
      return await acceptServerTools(context, requireServer(context, name));
    case "read":
      return await readServerResource(context, requireServer(context, name), more);
    case "prompt":
      return await sendServerPrompt(context, requireServer(context, name), more);
    default:
      throw createUsageError(words);
  }
}

function createUsageError(words: string): PawlError {
  const usage = "log NAME, restart NAME, accept NAME, read NAME [URI] or prompt NAME [PROMPT]";
  return new PawlError("bad_input", `/mcp takes nothing, ${usage}, not ${JSON.stringify(words)}.`);
}

/** The command that restarts a server. */
export const restartCommand = "/mcp restart";

/** The server with this name; without a name, the only server. */
function requireServer({ servers }: CommandContext, name: string): StartedServer {
  const { all } = servers;
  const found = name === "" && all.length === 1 ? all[0] : findServer(name, all);
  if (found !== undefined) return found;
  const names = all.length === 0 ? "There is none." : `There are: ${all.map((one) => one.name).join(", ")}.`;
  const what = name === "" ? "Say which MCP server." : `There is no MCP server ${JSON.stringify(name)} here.`;
  throw new PawlError("bad_input", `${what} ${names}`);
}

function list({ servers, say, redaction, columns }: CommandContext): void {
  if (servers.all.length === 0) {
    say([lineOf("There are no MCP servers. To add one: pawl mcp add NAME -- COMMAND", "dim")]);
    return;
  }
  const lines = servers.all.flatMap((one): readonly Line[] => {
    const { server, off, tools } = one;
    const state = server === null ? (off === null ? "✗ not started" : "off") : `✓ ${formatCount(tools.length, "tool")}`;
    const names = tools.map(({ name }) => name).join(", ");
    const style = server === null ? "yellow" : "bold";
    const about = toOneLine(formatServer(one).slice(5));
    return [
      ...renderList([{ head: state, about, style }], columns()),
      ...(names === "" ? [] : wrapLine(lineOf(`    ${toOneLine(names)}`, "dim"), columns())),
      ...renderWaiting(one, columns()),
    ];
  });
  say([
    ...lines,
    ...formatServerNotes(servers, restartCommand).flatMap((note) =>
      wrapLine(lineOf(toOneLine(redaction.text(note)), "yellow"), columns()),
    ),
    ...wrapNote(
      "/mcp log NAME shows what a server has written; /mcp restart NAME starts it again; /mcp read NAME and /mcp prompt NAME use its resources and prompts.",
      columns(),
      "dim",
    ),
  ]);
}

function renderWaiting({ name, server }: StartedServer, columns: number): readonly Line[] {
  const waiting = server?.waiting() ?? [];
  if (waiting.length === 0) return [];
  const names = `${formatCount(waiting.length, "new tool")}, which the model does not see: ${waiting.join(", ")}.`;
  return wrapLine(lineOf(toOneLine(`    ${names} To look: /mcp accept ${name}`), "yellow"), columns);
}

/** The maximum number of lines of a log that are shown without a pager. */
const maxLines = 200;

async function showLog(context: CommandContext, { name, transport, log }: StartedServer): Promise<void> {
  const text = log();
  if (text === "") {
    const why =
      transport?.type === "http" ? "is reached over HTTP: its log is on its own machine" : "has written nothing";
    return context.say([lineOf(`The MCP server ${name} ${why}.`, "dim")]);
  }
  await showFullText(context, { title: name, text, maxLines });
}

async function restart(context: CommandContext, { name, off }: StartedServer): Promise<void> {
  const { say, restartServer, atWork } = context;
  if (off !== null) throw new PawlError("bad_input", `The MCP server ${name} is off: ${off}.`);
  if (await isAtWork(context)) return say([createMustWaitLine("/mcp restart")]);
  say([lineOf(`Starting ${name} again…`, "dim")]);
  const stopped = new AbortController();
  const endActivity = atWork(`start of ${name}`, () => stopped.abort(new Error("you have stopped its start")));
  const { all } = await restartServer(name, stopped.signal).finally(endActivity);
  const running = all.find((one) => one.name === name && one.server !== null);
  // If the server does not run, the next talk reports why.
  if (running !== undefined) say([lineOf(`${name} runs: ${formatCount(running.tools.length, "tool")}.`)]);
  await restartTalk(context);
}
