/**
 * The resources and prompts that the MCP servers list, for completion and help. The names are untrusted. A server that does not
 * respond, or fails, lists nothing.
 */
import type { McpPrompt, McpServer } from "../../tools/mcp/index.js";
import type { StartedServers } from "./start-servers.js";

/** A prompt as a command: `/docs:review what [how]`. */
export type ServerPrompt = {
  /** The names of the server and of the prompt: `docs:review`. */
  readonly name: string;
  /** The arguments, as the help shows them. */
  readonly takes: string;
  readonly about: string;
};

type Servers = Pick<StartedServers, "all">;

/** Resources as messages mention them, without the `@`: `docs:file:///guide.md`. */
export async function listResourceNames(servers: Servers, signal: AbortSignal): Promise<readonly string[]> {
  const names = await collectFromServers(servers, async (server) => {
    const { resources } = await server.resources({ signal });
    return resources.map(({ uri }) => `${server.name}:${uri}`);
  });
  return names.filter((name) => !/["\n]/.test(name));
}

export async function listServerPrompts(servers: Servers, signal: AbortSignal): Promise<readonly ServerPrompt[]> {
  const prompts = await collectFromServers(servers, async (server) =>
    (await server.prompts({ signal })).map((prompt) => ({
      name: `${server.name}:${prompt.name}`,
      takes: formatArguments(prompt),
      about: prompt.description ?? `a prompt of ${server.name}`,
    })),
  );
  return prompts.filter(({ name }) => !/\s/.test(name));
}

/** The arguments of a prompt as a person writes them: optional ones in brackets. */
export function formatArguments({ arguments: all }: McpPrompt): string {
  return all.map(({ name, required }) => (required ? name : `[${name}]`)).join(" ");
}

async function collectFromServers<Item>(
  { all }: Servers,
  list: (server: McpServer) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const running = all.flatMap(({ server }) => server ?? []);
  const results = await Promise.allSettled(running.map(list));
  return results.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
}
