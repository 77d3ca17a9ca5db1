/**
 * The MCP servers that apply in a folder: the person's own, and those of the folder's file if it is trusted.
 */
import { join } from "node:path";
import type { McpTransport } from "../../tools/mcp/index.js";
import { resolveUserConfigurationFolder } from "../files/configuration-folder.js";
import type { Environment } from "../files/store-location.js";
import { sanitize } from "../terminal/text.js";
import { type FolderTrust, isTrusted, readFolderTrust } from "../trust/trust.js";
import type { ServerSandbox } from "./server-sandbox.js";
import { folderServersName, readServersFile, userServersName } from "./servers-file.js";

export type ResolvedServer = {
  readonly name: string;
  /** Whether the server is in the person's file or in the folder's. */
  readonly scope: "user" | "folder";
  readonly path: string;
  readonly transport: McpTransport | null;
  /** The sandbox in which it runs; null: none. */
  readonly sandbox: ServerSandbox | null;
  /** Why the server is off; null if it is started. */
  readonly off: string | null;
};

/** @throws PawlError `bad_configuration` if a file cannot be read */
export function resolveServers(
  {
    root,
    home,
    environment = process.env,
  }: { readonly root: string; readonly home: string; readonly environment?: Environment },
  trust: FolderTrust = readFolderTrust(root, home),
): readonly ResolvedServer[] {
  const user = readServersFile(join(resolveUserConfigurationFolder(environment), userServersName));
  const userNames = new Set(user?.servers.map(({ name }) => name));
  const isFolderTrusted = isTrusted(trust, folderServersName);
  const isInSandbox = trust.files.some(({ name, inSandbox }) => name === folderServersName && inSandbox);
  return [
    ...(user?.servers ?? []).map(
      ({ name, transport, sandbox, problem }): ResolvedServer => ({
        name,
        scope: "user",
        path: user?.path ?? "",
        transport,
        sandbox,
        off: problem ?? null,
      }),
    ),
    ...(trust.servers?.servers ?? []).map(({ name, transport, sandbox: own, problem }): ResolvedServer => {
      const sandbox = own ?? (transport?.type === "stdio" && isInSandbox ? {} : null);
      const untrusted = isFolderTrusted ? undefined : "its file is not trusted: pawl trust";
      const shadowed = userNames.has(name) ? "your own file has a server with this name" : undefined;
      const off = problem ?? shadowed ?? untrusted ?? null;
      return { name, scope: "folder", path: trust.servers?.path ?? "", transport, sandbox, off };
    }),
  ];
}

/** Finds a server by name. If two have the same name, the result is the one that is started. */
export function findServer<Server extends ResolvedServer>(
  name: string,
  servers: readonly Server[],
): Server | undefined {
  const all = servers.filter((server) => server.name === name);
  return all.find(({ off }) => off === null) ?? all[0];
}

/** The names of the servers to start, safe to show; empty if there are none. */
export function formatServersToStart(servers: readonly ResolvedServer[]): string {
  return sanitize(
    servers
      .filter(({ off }) => off === null)
      .map(({ name }) => name)
      .join(", "),
  );
}
