/**
 * `/mcp`: the MCP servers, what they give, and why some are off.
 */
import { serverLine } from "../mcp/server-line.js";
import { serverNotes } from "../mcp/start-servers.js";
import { type Line, lineOf, wrapLine } from "../screen/line.js";
import { counted, oneLine } from "../text.js";
import { listedLines } from "./listed-lines.js";
import type { CommandContext } from "./session-commands.js";

export async function mcpServers({ servers, say, redaction, columns }: CommandContext): Promise<void> {
  if (servers.all.length === 0)
    return say([lineOf("There is no MCP server. To add one: pawl mcp add NAME -- COMMAND", "dim")]);
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
    ...serverNotes(servers).flatMap((note) => wrapLine(lineOf(oneLine(redaction.text(note)), "yellow"), columns())),
  ]);
}
