/**
 * The connection to one MCP server: opened when it is needed, and again after it broke.
 *
 * 1. A server that ends takes with it only the calls that were under way; the next call starts it again.
 * 2. Whenever it was opened anew, or says that its tools changed, they are listed again.
 */
import type * as Sdk from "@modelcontextprotocol/client";
import type * as StdioSdk from "@modelcontextprotocol/client/stdio";
import { PawlError } from "../../errors.js";
import type { ToolContext } from "../../ports/tool.js";
import type { McpServerOptions, McpTransport } from "./options.js";

export type Connection = {
  /** @throws PawlError `missing_package`; Error where the server cannot be reached */
  readonly open: () => Promise<void>;
  /** @throws Error where the server cannot be reached, ends, is silent for too long or answers nonsense */
  readonly call: (name: string, input: unknown, context: ToolContext) => Promise<Sdk.CallToolResult>;
  readonly close: () => Promise<void>;
};

type Opened = { readonly client: Sdk.Client };

/** What is kept of what a server writes to its standard error. */
const lastWordsCharacters = 2_000;

export function createConnection(
  { name, transport, timeoutMs = 60_000, connectTimeoutMs = 30_000 }: McpServerOptions,
  onTools: (tools: readonly Sdk.Tool[]) => void,
): Connection {
  let opened: Promise<Opened> | null = null;
  let closed = false;
  let lastWords = "";

  function open(): Promise<Opened> {
    if (closed) throw new Error(`The MCP server "${name}" was closed.`);
    opened ??= connect().catch((error) => {
      opened = null;
      throw error;
    });
    return opened;
  }

  async function connect(): Promise<Opened> {
    const sdk = await importSdk();
    lastWords = "";
    const client = new sdk.Client({ name: "pawl", version: "0" });
    client.setNotificationHandler("notifications/tools/list_changed", () => list(client).catch(() => {}));
    try {
      await client.connect(await transportOf(transport, sdk, hear), { timeout: connectTimeoutMs });
      await list(client);
    } catch (cause) {
      await client.close().catch(() => {});
      throw new Error(`The MCP server "${name}" cannot be reached (${messageOf(cause)})${said()}`, { cause });
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

  function hear(text: string): void {
    lastWords = `${lastWords}${text}`.slice(-lastWordsCharacters);
  }

  function said(): string {
    return lastWords.trim() === "" ? "." : `. Its last words: ${lastWords.trim()}`;
  }

  return {
    async open() {
      await open();
    },
    async call(tool, input, context) {
      const { client } = await open();
      try {
        // The input was checked against the tool's schema, which is an object's.
        const request = { name: tool, arguments: input as { [key: string]: unknown } };
        return await client.callTool(request, {
          signal: context.signal,
          timeout: timeoutMs,
          resetTimeoutOnProgress: true,
          onprogress: ({ progress, total, message }) =>
            context.progress(message ?? `${progress}${total === undefined ? "" : ` of ${total}`}`),
        });
      } catch (cause) {
        const ended = opened === null ? ` The server ended while the call ran; its outcome is unknown${said()}` : "";
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
      "MCP servers need the package @modelcontextprotocol/client. Run: npm install @modelcontextprotocol/client",
      { cause },
    );
  }
}

async function transportOf(
  transport: McpTransport,
  sdk: typeof Sdk,
  hear: (text: string) => void,
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
  child.stderr?.on("data", (bytes: Buffer) => hear(bytes.toString()));
  return child;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
