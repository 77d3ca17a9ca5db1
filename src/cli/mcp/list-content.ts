/**
 * The resources and prompts that the MCP servers list, and the values that they suggest, for completion and help. All of it is untrusted.
 * A server that does not respond, or fails, lists nothing.
 */
import type { McpPrompt, McpServer } from "../../tools/mcp/index.js";
import type { StartedServers } from "./start-servers.js";
import type { TypedArgument } from "./typed-argument.js";

/** How long the person's draft waits for values of a server; milliseconds. */
const completionTimeoutMs = 3_000;

/** A prompt as a command: `/docs:review what [how]`. */
export type ServerPrompt = {
  /** The names of the server and of the prompt: `docs:review`. */
  readonly name: string;
  /** The arguments, as the help shows them. */
  readonly takes: string;
  readonly about: string;
  /** The names of the arguments, in order. */
  readonly arguments: readonly string[];
};

type Servers = Pick<StartedServers, "all">;

/** Resources and templates of them as messages mention them, without the `@`: `docs:file:///guide.md`, `docs:note://{id}`. */
export async function listResourceNames(servers: Servers, signal: AbortSignal): Promise<readonly string[]> {
  const names = await collectFromServers(servers, async (server) => {
    const { resources, templates } = await server.resources({ signal });
    return [...resources, ...templates].map(({ uri }) => `${server.name}:${uri}`);
  });
  return names.filter((name) => !/["\n]/.test(name));
}

export async function listServerPrompts(servers: Servers, signal: AbortSignal): Promise<readonly ServerPrompt[]> {
  const prompts = await collectFromServers(servers, async (server) =>
    (await server.prompts({ signal })).map((prompt) => ({
      name: `${server.name}:${prompt.name}`,
      takes: formatArguments(prompt),
      about: prompt.description ?? `a prompt of ${server.name}`,
      arguments: prompt.arguments.map(({ name }) => name),
    })),
  );
  return prompts.filter(({ name }) => !/\s/.test(name));
}

/** The arguments of a prompt as a person writes them: optional ones in brackets. */
export function formatArguments({ arguments: all }: McpPrompt): string {
  return all.map(({ name, required }) => (required ? name : `[${name}]`)).join(" ");
}

/** The values that a server suggests for an argument. Those that a draft cannot contain as they are, are omitted. */
export async function listArgumentValues(
  { all }: Servers,
  { server: name, ...typed }: TypedArgument,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const server = all.find((candidate) => candidate.name === name)?.server;
  if (server === undefined || server === null) return [];
  const limited = AbortSignal.any([signal, AbortSignal.timeout(completionTimeoutMs)]);
  const values = await server.complete(typed, { signal: limited });
  return values.filter((value) => value !== "" && !/["\p{C}\p{Zl}\p{Zp}]/u.test(value));
}

async function collectFromServers<Item>(
  { all }: Servers,
  list: (server: McpServer) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const running = all.flatMap(({ server }) => server ?? []);
  const results = await Promise.allSettled(running.map(list));
  return results.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
}
