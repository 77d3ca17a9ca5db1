/**
 * `/mcp`: the MCP servers, what they give, and why some are off.
 */
import { serverLine } from "../mcp/server-line.js";
import { serverNotes } from "../mcp/start-servers.js";
import { type Line, lineOf, spanOf } from "../screen/line.js";
import { counted, oneLine } from "../text.js";
import type { CommandContext } from "./session-commands.js";

export async function mcpServers({ servers, say, redaction }: CommandContext): Promise<void> {
  if (servers.all.length === 0)
    return say([lineOf("There is no MCP server. To add one: pawl mcp add NAME -- COMMAND", "dim")]);
  const lines = servers.all.flatMap((one): readonly Line[] => {
    const { server, off, tools } = one;
    const state = server === null ? (off === null ? "✗ not started" : "off") : `✓ ${counted(tools.length, "tool")}`;
    const names = tools.map(({ name }) => name).join(", ");
    return [
      [spanOf(`${state.padEnd(14)} `, server === null ? "yellow" : "bold"), spanOf(oneLine(serverLine(one).slice(5)))],
      ...(names === "" ? [] : [lineOf(`    ${oneLine(names)}`, "dim")]),
    ];
  });
  say([...lines, ...serverNotes(servers).map((note) => lineOf(oneLine(redaction.text(note)), "yellow"))]);
}
