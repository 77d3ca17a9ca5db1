/**
 * `/mcp`: the MCP servers, what they give, and why some are off; what one has written, and a new start of it. Its tools count from the
 * beginning of a talk, so the talk begins anew with the same session.
 */
import { PawlError } from "../../index.js";
import { serverLine } from "../mcp/server-line.js";
import { findServer } from "../mcp/servers-in-force.js";
import { type StartedServer, serverNotes } from "../mcp/start-servers.js";
import { type Line, lineOf, wrapLine } from "../screen/line.js";
import { counted, oneLine } from "../text.js";
import { listedLines } from "./listed-lines.js";
import { beginAnew, type CommandContext, hasToWait, isAtWork } from "./session-commands.js";
import { showWhole } from "./show-whole.js";
import { wrappedNote } from "./view-lines.js";

/** @param words nothing, `log NAME` or `restart NAME` */
export async function mcpServers(context: CommandContext, words: string): Promise<void> {
  const [, verb, name = ""] = /^(\S+)(?:\s+(\S+))?$/.exec(words) ?? [];
  switch (verb ?? words) {
    case "":
      return list(context);
    case "log":
      return await showLog(context, serverNamed(context, name));
    case "restart":
      return await restart(context, serverNamed(context, name));
    default:
      throw new PawlError("bad_input", `/mcp takes nothing, log NAME or restart NAME, not ${JSON.stringify(words)}.`);
  }
}

/** What starts a server again. */
export const retry = "/mcp restart";

/** The server that is meant: the only one, if none is named. */
function serverNamed({ servers }: CommandContext, name: string): StartedServer {
  const { all } = servers;
  const found = name === "" && all.length === 1 ? all[0] : findServer(name, all);
  if (found !== undefined) return found;
  const names = all.length === 0 ? "There is none." : `There are: ${all.map((one) => one.name).join(", ")}.`;
  const what = name === "" ? "Say which MCP server." : `There is no MCP server ${JSON.stringify(name)} here.`;
  throw new PawlError("bad_input", `${what} ${names}`);
}

function list({ servers, say, redaction, columns }: CommandContext): void {
  if (servers.all.length === 0) {
    say([lineOf("There is no MCP server. To add one: pawl mcp add NAME -- COMMAND", "dim")]);
    return;
  }
  const lines = servers.all.flatMap((one): readonly Line[] => {
    const { server, off, tools } = one;
    const state = server === null ? (off === null ? "✗ not started" : "off") : `✓ ${counted(tools.length, "tool")}`;
    const names = tools.map(({ name }) => name).join(", ");
    const style = server === null ? "yellow" : "bold";
    const about = oneLine(serverLine(one).slice(5));
    return [
      ...listedLines([{ head: state, about, style }], columns()),
      ...(names === "" ? [] : wrapLine(lineOf(`    ${oneLine(names)}`, "dim"), columns())),
    ];
  });
  say([
    ...lines,
    ...serverNotes(servers, retry).flatMap((note) =>
      wrapLine(lineOf(oneLine(redaction.text(note)), "yellow"), columns()),
    ),
    ...wrappedNote(
      "/mcp log NAME shows what a server has written; /mcp restart NAME starts it again.",
      columns(),
      "dim",
    ),
  ]);
}

/** Lines of a log that are shown if there is no pager. */
const mostLines = 200;

async function showLog(context: CommandContext, { name, transport, log }: StartedServer): Promise<void> {
  const text = log();
  if (text === "") {
    const why = transport?.type === "http" ? "is reached over HTTP: its log is where it runs" : "has written nothing";
    return context.say([lineOf(`The MCP server ${name} ${why}.`, "dim")]);
  }
  await showWhole(context, { title: name, text, mostLines });
}

async function restart(context: CommandContext, { name, off }: StartedServer): Promise<void> {
  const { say, restartServer, atWork } = context;
  if (off !== null) throw new PawlError("bad_input", `The MCP server ${name} is off: ${off}.`);
  if (await isAtWork(context)) return say([hasToWait("/mcp restart")]);
  say([lineOf(`Starting ${name} again…`, "dim")]);
  const stopped = new AbortController();
  const isOver = atWork(`start of ${name}`, () => stopped.abort(new Error("you have stopped its start")));
  const { all } = await restartServer(name, stopped.signal).finally(isOver);
  const running = all.find((one) => one.name === name && one.server !== null);
  // If it does not run, the talk that begins says why.
  if (running !== undefined) say([lineOf(`${name} runs: ${counted(running.tools.length, "tool")}.`)]);
  await beginAnew(context);
}
