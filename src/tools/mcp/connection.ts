/**
 * The connection to one MCP server. It opens on demand, and again after it broke.
 *
 * 1. If a server ends, only the calls under way fail. The next call starts the server again.
 * 2. The tools are listed each time that the connection opens, and when the server reports that they have changed.
 * 3. The MCP library never reads a tool's schemas: one bad schema would make the whole server unreachable, and the
 *    library would turn output schemas into code. The caller checks each tool by itself.
 */
import { StringDecoder } from "node:string_decoder";
import type * as Sdk from "@modelcontextprotocol/client";
import type * as StdioSdk from "@modelcontextprotocol/client/stdio";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { PawlError } from "../../errors.js";
import type { ToolContext } from "../../ports/tool.js";
import { createLiveQuestions } from "./live-questions.js";
import type { McpServerOptions, McpTransport } from "./options.js";
import type { Continued, Reply } from "./rounds.js";

export type Connection = {
  /**
   * @throws PawlError `missing_package`
   * @throws Error if the server cannot be reached, or if the signal of the options was aborted meanwhile
   */
  readonly open: () => Promise<void>;
  /** @throws Error if the server cannot be reached, ends, is silent for too long, or sends an invalid answer */
  readonly call: (call: ServerCall) => Promise<Reply>;
  /** Whether the server asks people between requests, not within them. Known once the connection was open. */
  readonly asksBetweenRequests: () => boolean;
  readonly close: () => Promise<void>;
};

export type ServerCall = {
  readonly name: string;
  readonly input: unknown;
  readonly continued: Continued;
  readonly signal: AbortSignal;
  readonly context: Pick<ToolContext, "ask" | "attempt" | "progress">;
};

type Opened = { readonly client: Sdk.Client };

/** How long a question that holds a request open waits for a person. */
const defaultAnswerTimeoutMs = 3_600_000;
/** For the MCP library, whose time limit cannot stand still while a person is asked. */
const longestTimer = 2 ** 31 - 1;
/** The last characters of a server's standard error that are kept for error messages. */
const stderrCharacters = 2_000;

export function createConnection(
  options: McpServerOptions,
  onTools: (tools: readonly unknown[]) => void,
  definitionOf: (name: string) => Sdk.Tool | undefined,
): Connection {
  const { name, transport, protocol, timeoutMs = 60_000, connectTimeoutMs = 30_000 } = options;
  const questions = createLiveQuestions(name, options.answerTimeoutMs ?? defaultAnswerTimeoutMs);
  let opened: Promise<Opened> | null = null;
  let closed = false;
  let stderr = "";
  /** Which protocol the server speaks. It is asked once. */
  let known: Sdk.PriorDiscovery | undefined;

  /** @param signal ends the attempt */
  function open(signal?: AbortSignal): Promise<Opened> {
    if (closed) throw new Error(`The MCP server "${name}" was closed. Connect to it again.`);
    opened ??= connect(signal).catch((error) => {
      opened = null;
      throw error;
    });
    return opened;
  }

  async function connect(signal?: AbortSignal): Promise<Opened> {
    const sdk = await importSdk();
    stderr = "";
    const client = new sdk.Client(
      { name: "pawl", version: "0" },
      {
        jsonSchemaValidator: uncheckedSchemas,
        capabilities: { elicitation: { form: {}, url: {} } },
        versionNegotiation: { mode: negotiationOf(protocol, transport) },
      },
    );
    client.setRequestHandler("elicitation/create", ({ params }) => questions.answer(params));
    client.setNotificationHandler("notifications/tools/list_changed", () =>
      list(client, { timeout: connectTimeoutMs }).catch(() => {}),
    );
    const within = { timeout: connectTimeoutMs, ...(signal === undefined ? {} : { signal }) };
    try {
      signal?.throwIfAborted();
      await client.connect(await transportOf(transport, sdk, keepStderr), {
        ...within,
        ...(known === undefined ? {} : { prior: known }),
      });
      known = verdictOf(client);
      if (known.kind === "modern" && client.getServerCapabilities()?.tools?.listChanged === true)
        await client.listen({ toolsListChanged: true }, within).catch(() => {});
      await list(client, within);
    } catch (error) {
      await client.close().catch(() => {});
      const cause = signal?.aborted === true ? signal.reason : error;
      throw new Error(`The MCP server "${name}" cannot be reached (${messageOf(cause)})${stderrNote()}`, { cause });
    }
    client.onclose = () => {
      opened = null;
    };
    return { client };
  }

  async function list(client: Sdk.Client, within: Sdk.RequestOptions): Promise<void> {
    onTools(await listTools(client, within));
  }

  function keepStderr(text: string): void {
    options.onStderr?.(text);
    stderr = `${stderr}${text}`.slice(-stderrCharacters - 1);
  }

  function stderrNote(): string {
    // Cut between two lines: whoever masks secrets could not tell one that is cut in two.
    const end = (stderr.length > stderrCharacters ? stderr.slice(stderr.indexOf("\n") + 1) : stderr).trim();
    return end === "" ? "." : `. The end of its standard error: ${end}`;
  }

  return {
    async open() {
      await open(options.signal);
    },
    asksBetweenRequests: () => known?.kind === "modern",
    async call({ name: tool, input, continued, signal, context }) {
      const { client } = await open();
      const live = questions.begin(context, timeoutMs);
      try {
        // The input fits the tool's schema, and the schema of an MCP tool is always that of an object.
        const request = { name: tool, arguments: input as { [key: string]: unknown }, ...continued };
        const toolDefinition = definitionOf(tool);
        return replyOf(
          await client.callTool(request as Sdk.CallToolRequest["params"], {
            ...(toolDefinition === undefined ? {} : { toolDefinition }),
            signal: AbortSignal.any([signal, live.silent]),
            timeout: longestTimer,
            allowInputRequired: true,
            onprogress(note) {
              live.heard();
              const { progress, total, message } = note;
              context.progress(message ?? `${progress}${total === undefined ? "" : ` of ${total}`}`);
            },
          }),
        );
      } catch (cause) {
        const ended =
          opened === null ? ` The server ended during the call, whose outcome is unknown${stderrNote()}` : "";
        const why = messageOf(live.silent.aborted ? live.silent.reason : cause);
        throw new Error(`The MCP server "${name}" gave no result (${why}).${ended}`, { cause });
      } finally {
        live.end();
      }
    },
    async close() {
      closed = true;
      const last = await opened?.catch(() => null);
      await last?.client.close();
    },
  };
}

/** A server at an address is asked which protocol it speaks. A program would have to be started twice for that. */
function negotiationOf(protocol: McpServerOptions["protocol"], { type }: McpTransport): Sdk.VersionNegotiationMode {
  const wanted = protocol ?? (type === "http" ? "auto" : "2025-11-25");
  if (wanted === "auto") return "auto";
  return wanted === "2025-11-25" ? "legacy" : { pin: wanted };
}

/** What the server said at the first connection, so that it need not be asked again. */
function verdictOf(client: Sdk.Client): Sdk.PriorDiscovery {
  const discover = client.getDiscoverResult();
  return discover === undefined ? { kind: "legacy" } : { kind: "modern", discover };
}

function replyOf(result: Sdk.CallToolResult | Sdk.InputRequiredResult): Reply {
  if (result.resultType !== "input_required") return { type: "result", result: result as Sdk.CallToolResult };
  const { inputRequests = {}, requestState } = result as Sdk.InputRequiredResult;
  return { type: "asks", requests: inputRequests, ...(requestState === undefined ? {} : { state: requestState }) };
}

/** For the MCP library: it checks no result against a server's output schema. The result is data for the model. */
const uncheckedSchemas: Sdk.jsonSchemaValidator = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};

/** The pages of a list that are read at most. */
const mostPages = 64;

/** All tools of a server, as the server wrote them. */
async function listTools(client: Sdk.Client, within: Sdk.RequestOptions): Promise<readonly unknown[]> {
  const listed: unknown[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < mostPages; pages += 1) {
    const request = { method: "tools/list", ...(cursor === undefined ? {} : { params: { cursor } }) };
    const { tools, nextCursor } = await client.request(request, anyList, within);
    listed.push(...tools);
    if (nextCursor === undefined || nextCursor === cursor) return listed;
    cursor = nextCursor;
  }
  return listed;
}

type Page = { readonly tools: readonly unknown[]; readonly nextCursor?: string };

/** The shape of an answer to `tools/list`, without the shape of the tools. */
const anyList: StandardSchemaV1<unknown, Page> = {
  "~standard": {
    version: 1,
    vendor: "pawl",
    validate(value) {
      const { tools, nextCursor } = Object(value) as { readonly tools?: unknown; readonly nextCursor?: unknown };
      if (!Array.isArray(tools)) return { issues: [{ message: "the answer to tools/list has no list of tools" }] };
      return { value: { tools, ...(typeof nextCursor === "string" ? { nextCursor } : {}) } };
    },
  },
};

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
  const decoder = new StringDecoder("utf8");
  child.stderr?.on("data", (bytes: Buffer) => keepStderr(decoder.write(bytes)));
  return child;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
