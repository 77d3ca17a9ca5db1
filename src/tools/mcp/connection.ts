/**
 * The connection to one MCP server. It opens on demand, and again after it broke.
 *
 * 1. If a server ends, only the calls under way fail. The next call starts the server again.
 * 2. The tools are listed each time that the connection opens, and when the server reports that they have changed.
 */
import type * as Sdk from "@modelcontextprotocol/client";
import type * as StdioSdk from "@modelcontextprotocol/client/stdio";
import { PawlError } from "../../errors.js";
import type { ToolContext } from "../../ports/tool.js";
import type { McpServerOptions, McpTransport } from "./options.js";

export type Connection = {
  /** @throws PawlError `missing_package`; Error if the server cannot be reached */
  readonly open: () => Promise<void>;
  /** @throws Error if the server cannot be reached, ends, is silent for too long, or sends an invalid answer */
  readonly call: (name: string, input: unknown, context: ToolContext) => Promise<Sdk.CallToolResult>;
  readonly close: () => Promise<void>;
};

type Opened = { readonly client: Sdk.Client };

/** The last characters of a server's standard error that are kept for error messages. */
const stderrCharacters = 2_000;

export function createConnection(
  { name, transport, timeoutMs = 60_000, connectTimeoutMs = 30_000 }: McpServerOptions,
  onTools: (tools: readonly Sdk.Tool[]) => void,
): Connection {
  let opened: Promise<Opened> | null = null;
  let closed = false;
  let stderr = "";

  function open(): Promise<Opened> {
    if (closed) throw new Error(`The MCP server "${name}" was closed. Connect to it again.`);
    opened ??= connect().catch((error) => {
      opened = null;
      throw error;
    });
    return opened;
  }

  async function connect(): Promise<Opened> {
    const sdk = await importSdk();
    stderr = "";
    const client = new sdk.Client({ name: "pawl", version: "0" });
    client.setNotificationHandler("notifications/tools/list_changed", () => list(client).catch(() => {}));
    try {
      await client.connect(await transportOf(transport, sdk, keepStderr), { timeout: connectTimeoutMs });
      await list(client);
    } catch (cause) {
      await client.close().catch(() => {});
      throw new Error(`The MCP server "${name}" cannot be reached (${messageOf(cause)})${stderrNote()}`, { cause });
    }
    client.onclose = () => {
      opened = null;
    };
    return { client };
  }

  async function list(client: Sdk.Client): Promise<void> {
    const { tools } = await client.listTools(undefined, { timeout: connectTimeoutMs });
    onTools(tools);
  }

  function keepStderr(text: string): void {
    stderr = `${stderr}${text}`.slice(-stderrCharacters);
  }

  function stderrNote(): string {
    return stderr.trim() === "" ? "." : `. The end of its standard error: ${stderr.trim()}`;
  }

  return {
    async open() {
      await open();
    },
    async call(tool, input, context) {
      const { client } = await open();
      try {
        // The input fits the tool's schema, and the schema of an MCP tool is always that of an object.
        const request = { name: tool, arguments: input as { [key: string]: unknown } };
        return await client.callTool(request, {
          signal: context.signal,
          timeout: timeoutMs,
          resetTimeoutOnProgress: true,
          onprogress: ({ progress, total, message }) =>
            context.progress(message ?? `${progress}${total === undefined ? "" : ` of ${total}`}`),
        });
      } catch (cause) {
        const ended =
          opened === null ? ` The server ended during the call, whose outcome is unknown${stderrNote()}` : "";
        throw new Error(`The MCP server "${name}" gave no result (${messageOf(cause)}).${ended}`, { cause });
      }
    },
    async close() {
      closed = true;
      const last = await opened?.catch(() => null);
      await last?.client.close();
    },
  };
}

async function importSdk(): Promise<typeof Sdk> {
  try {
    return await import("@modelcontextprotocol/client");
  } catch (cause) {
    throw new PawlError(
      "missing_package",
      "MCP servers need the package @modelcontextprotocol/client, which could not be loaded. Install it: npm install @modelcontextprotocol/client",
      { cause },
    );
  }
}

async function transportOf(
  transport: McpTransport,
  sdk: typeof Sdk,
  keepStderr: (text: string) => void,
): Promise<Sdk.Transport> {
  if (transport.type === "http") {
    const { url, headers = {} } = transport;
    return new sdk.StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  }
  const { command, args = [], env = {}, cwd } = transport;
  const stdio: typeof StdioSdk = await import("@modelcontextprotocol/client/stdio");
  const child = new stdio.StdioClientTransport({
    command,
    args: [...args],
    env: { ...stdio.getDefaultEnvironment(), ...env },
    stderr: "pipe",
    ...(cwd === undefined ? {} : { cwd }),
  });
  child.stderr?.on("data", (bytes: Buffer) => keepStderr(bytes.toString()));
  return child;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
