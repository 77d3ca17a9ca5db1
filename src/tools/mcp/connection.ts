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
import { getErrorMessage } from "../../core/data/error-message.js";
import { PawlError } from "../../errors.js";
import { untilAborted } from "../../platform/until-aborted.js";
import type { ToolContext } from "../../ports/tool.js";
import { boundMessages } from "./bounded-messages.js";
import type { Continuation, Reply } from "./call-in-rounds.js";
import { importSdk } from "./import-sdk.js";
import { createLiveQuestions } from "./live-questions.js";
import { createLoginFetch } from "./login/login.js";
import { formatPeer, type McpServerOptions, type McpTransport } from "./options.js";
import { type ListName, passRawResults, readRawList, readRawTask } from "./raw-results.js";
import { createRefresher } from "./refresher.js";
import { createSandboxedTransport } from "./sandboxed-program.js";
import { shortenUntrusted } from "./shorten-untrusted.js";
import { parseTask, tasksExtension } from "./tasks.js";

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
  /** The server's instructions for the model, if it has any. Known once the connection was open. */
  readonly instructions: () => string | undefined;
  /** Reads one of the server's lists; empty if it has no such list. @throws Error if the server cannot be reached, or its reply cannot be read */
  readonly list: (name: ListName, signal: AbortSignal) => Promise<RawList>;
  /** @throws Error as `list` does, or with the server's error message */
  readonly request: (method: string, params: object, signal: AbortSignal) => Promise<unknown>;
  /** Requests completions; null from a server that does not offer any. @throws Error as `request` does */
  readonly complete: (params: object, signal: AbortSignal) => Promise<unknown>;
  readonly close: () => Promise<void>;
};

export type ServerCall = {
  readonly name: string;
  readonly input: unknown;
  readonly continuation: Continuation;
  readonly signal: AbortSignal;
  readonly context: Pick<ToolContext, "ask" | "attempt" | "progress" | "traceparent">;
};

type OpenConnection = { readonly client: Sdk.Client };

/** How long a question that holds a request open waits for a person. */
const defaultAnswerTimeoutMs = 3_600_000;
/** Effectively no time limit: the MCP library's own timer cannot be paused while a person is asked. */
const maxTimer = 2 ** 31 - 1;
const maxProgressCharacters = 500;
/** The last characters of a server's standard error that are kept for error messages. */
const maxStderrCharacters = 2_000;

export function createConnection(
  options: McpServerOptions,
  onTools: (tools: readonly unknown[]) => void,
  getDefinition: (name: string) => Sdk.Tool | undefined,
): Connection {
  const { name, transport, protocol, timeoutMs = 60_000, connectTimeoutMs = 30_000 } = options;
  const questions = createLiveQuestions(formatPeer(name), options.answerTimeoutMs ?? defaultAnswerTimeoutMs);
  let opening: Promise<OpenConnection> | null = null;
  const closing = new AbortController();
  let stderr = "";
  let instructions: string | undefined;
  /** When the list of tools expires, on the scale of `performance.now()`. The next call then reads it again. */
  let staleAt = Number.POSITIVE_INFINITY;
  /** The protocol that the server speaks, which is discovered once. */
  let priorDiscovery: Sdk.PriorDiscovery | undefined;

  /** @param signal ends the attempt */
  function open(signal?: AbortSignal): Promise<OpenConnection> {
    if (closing.signal.aborted) throw new Error(`The MCP server "${name}" was closed. Connect to it again.`);
    const signals = signal === undefined ? [closing.signal] : [signal, closing.signal];
    opening ??= connect(AbortSignal.any(signals)).catch((error) => {
      opening = null;
      throw error;
    });
    return opening;
  }

  /** Waits for the connection at most until the signal is aborted. All calls share the connection, so the signal does not end the attempt. */
  async function openUntil(signal: AbortSignal): Promise<OpenConnection> {
    return await untilAborted(open(), signal);
  }

  async function connect(signal: AbortSignal): Promise<OpenConnection> {
    const sdk = await importSdk();
    stderr = "";
    const client = new sdk.Client(
      { name: "pawl", version: "0" },
      {
        jsonSchemaValidator: noopSchemaValidator,
        capabilities: { elicitation: { form: {}, url: {} }, extensions: { [tasksExtension]: {} } },
        versionNegotiation: { mode: toNegotiationMode(protocol, transport) },
      },
    );
    client.setRequestHandler("elicitation/create", ({ params }) => questions.answer(params));
    client.setNotificationHandler(
      "notifications/tools/list_changed",
      createRefresher(() => refreshTools(client, { timeout: connectTimeoutMs }).catch(() => {})),
    );
    const requestOptions = { timeout: connectTimeoutMs, signal };
    try {
      signal.throwIfAborted();
      await client.connect(passRawResults(await createTransport(transport, sdk, recordStderr)), {
        ...requestOptions,
        ...(priorDiscovery === undefined ? {} : { prior: priorDiscovery }),
      });
      priorDiscovery = toPriorDiscovery(client);
      instructions = client.getInstructions();
      if (priorDiscovery.kind === "modern" && client.getServerCapabilities()?.tools?.listChanged === true)
        await client.listen({ toolsListChanged: true }, requestOptions).catch(() => {});
      await refreshTools(client, requestOptions);
    } catch (error) {
      await client.close().catch(() => {});
      const cause = signal.aborted ? signal.reason : error;
      const loginNeeded = findLoginNeeded(cause);
      if (loginNeeded !== null) throw loginNeeded;
      throw new Error(`The MCP server "${name}" cannot be reached (${getErrorMessage(cause)})${formatStderrNote()}`, {
        cause,
      });
    }
    client.onclose = () => {
      opening = null;
    };
    return { client };
  }

  async function refreshTools(client: Sdk.Client, requestOptions: ListRequestOptions): Promise<void> {
    const { items, ttlMs } = await readList(client, "tools", requestOptions);
    staleAt = ttlMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + boundTtl(ttlMs);
    onTools(items);
  }

  /** If the list cannot be read again, the old one stays in use. */
  async function listIfStale(client: Sdk.Client, signal: AbortSignal): Promise<void> {
    if (performance.now() < staleAt) return;
    staleAt = performance.now() + minTtlMs;
    await refreshTools(client, { timeout: connectTimeoutMs, signal }).catch(() => {});
  }

  function recordStderr(text: string): void {
    options.onStderr?.(text);
    stderr = `${stderr}${text}`.slice(-maxStderrCharacters - 1);
  }

  function formatStderrNote(): string {
    // Cut between two lines, because a redaction would not recognize a secret that is cut in two.
    const end = (stderr.length > maxStderrCharacters ? stderr.slice(stderr.indexOf("\n") + 1) : stderr).trim();
    return end === "" ? "." : `. The end of its standard error: ${end}`;
  }

  async function request(method: string, params: object, signal: AbortSignal): Promise<unknown> {
    const { client } = await openUntil(signal);
    return await client.request({ method, params: { ...params } }, anyResult, { timeout: timeoutMs, signal });
  }

  return {
    async open() {
      await open(options.signal);
    },
    asksBetweenRequests: () => priorDiscovery?.kind === "modern",
    async call({ name: tool, input, continuation, signal, context }) {
      const { client } = await openUntil(signal);
      await listIfStale(client, signal);
      const liveCall = questions.beginCall(context, timeoutMs);
      try {
        // The input fits the tool's schema, and the schema of an MCP tool is always that of an object.
        const request = {
          name: tool,
          arguments: input as { [key: string]: unknown },
          ...continuation,
          ...createTraceMeta(options, context),
        };
        const toolDefinition = getDefinition(tool);
        return toReply(
          await client.callTool(request as Sdk.CallToolRequest["params"], {
            ...(toolDefinition === undefined ? {} : { toolDefinition }),
            signal: AbortSignal.any([signal, liveCall.silenceSignal]),
            timeout: maxTimer,
            allowInputRequired: true,
            onprogress(progressNote) {
              liveCall.recordActivity();
              const { progress, total, message } = progressNote;
              const note = message ?? `${progress}${total === undefined ? "" : ` of ${total}`}`;
              context.progress(shortenUntrusted(note, maxProgressCharacters));
            },
          }),
        );
      } catch (cause) {
        const endedNote =
          opening === null ? ` The server ended during the call, whose outcome is unknown${formatStderrNote()}` : "";
        const causeText = getErrorMessage(liveCall.silenceSignal.aborted ? liveCall.silenceSignal.reason : cause);
        throw new Error(`The MCP server "${name}" gave no result (${causeText}).${endedNote}`, { cause });
      } finally {
        liveCall.end();
      }
    },
    instructions: () => instructions,
    async list(listName, signal) {
      const { client } = await openUntil(signal);
      const { resources, prompts } = client.getServerCapabilities() ?? {};
      const isThere = listName === "prompts" ? prompts !== undefined : listName === "tools" || resources !== undefined;
      if (!isThere) return { items: [], ttlMs: undefined };
      return await readList(client, listName, { timeout: timeoutMs, signal });
    },
    request,
    async complete(params, signal) {
      const { client } = await openUntil(signal);
      if (client.getServerCapabilities()?.completions === undefined) return null;
      return await request("completion/complete", params, signal);
    },
    async close() {
      // A server that does not respond while it starts must not delay the end.
      closing.abort(new Error("it was closed"));
      const last = await opening?.catch(() => null);
      await last?.client.close();
    },
  };
}

/** The part of a request's parameters that says which span it belongs to. */
export function createTraceMeta(
  { trace = false }: Pick<McpServerOptions, "trace">,
  { traceparent }: Pick<ToolContext, "traceparent">,
): { readonly _meta?: { readonly traceparent: string } } {
  return trace ? { _meta: { traceparent } } : {};
}

const minTtlMs = 60_000;
const maxTtlMs = 86_400_000;

function boundTtl(ttlMs: number): number {
  return Math.min(maxTtlMs, Math.max(minTtlMs, ttlMs));
}

/** A server at an address is asked which protocol it speaks. A program would have to be started twice for that. */
function toNegotiationMode(protocol: McpServerOptions["protocol"], { type }: McpTransport): Sdk.VersionNegotiationMode {
  const requestedProtocol = protocol ?? (type === "http" ? "auto" : "2025-11-25");
  if (requestedProtocol === "auto") return "auto";
  return requestedProtocol === "2025-11-25" ? "legacy" : { pin: requestedProtocol };
}

/** The result of the first connection's discovery, so that the server need not be asked again. */
function toPriorDiscovery(client: Sdk.Client): Sdk.PriorDiscovery {
  const discover = client.getDiscoverResult();
  return discover === undefined ? { kind: "legacy" } : { kind: "modern", discover };
}

function toReply(result: Sdk.CallToolResult | Sdk.InputRequiredResult): Reply {
  const task = readRawTask(result);
  if (task !== undefined) return { type: "task", task: parseTask(task) };
  if (result.resultType !== "input_required") return { type: "result", result: result as Sdk.CallToolResult };
  const { inputRequests = {}, requestState } = result as Sdk.InputRequiredResult;
  return { type: "asks", requests: inputRequests, ...(requestState === undefined ? {} : { state: requestState }) };
}

/** For the MCP library: it checks no result against a server's output schema. The result is data for the model. */
const noopSchemaValidator: Sdk.jsonSchemaValidator = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};

/** The pages of a list that are read at most. */
const maxPages = 64;

/** One of a server's lists. */
export type RawList = {
  /** Unchecked, as the server sent them. */
  readonly items: readonly unknown[];
  /** How long the list may be used, in milliseconds. Undefined: until the server reports a change. */
  readonly ttlMs: number | undefined;
};

const listMethods: { readonly [name in ListName]: string } = {
  tools: "tools/list",
  resources: "resources/list",
  resourceTemplates: "resources/templates/list",
  prompts: "prompts/list",
};

/** `timeout` is that of the whole list, in milliseconds. */
type ListRequestOptions = { readonly timeout: number; readonly signal?: AbortSignal | undefined };

async function readList(client: Sdk.Client, name: ListName, { timeout, signal }: ListRequestOptions): Promise<RawList> {
  const late = AbortSignal.timeout(timeout);
  const requestOptions = { timeout, signal: signal === undefined ? late : AbortSignal.any([signal, late]) };
  const items: unknown[] = [];
  let cursor: string | undefined;
  let ttlMs: number | undefined;
  for (let pages = 0; pages < maxPages; pages += 1) {
    const request = { method: listMethods[name], ...(cursor === undefined ? {} : { params: { cursor } }) };
    const page = await client.request(request, listPageSchema, requestOptions);
    for (const item of page.items) items.push(item);
    ttlMs = Math.min(page.ttlMs ?? Number.POSITIVE_INFINITY, ttlMs ?? Number.POSITIVE_INFINITY);
    if (page.nextCursor === undefined || page.nextCursor === cursor) break;
    cursor = page.nextCursor;
  }
  return { items, ttlMs: ttlMs === Number.POSITIVE_INFINITY ? undefined : ttlMs };
}

/** Accepts any result: the caller checks it. */
const anyResult: StandardSchemaV1<unknown, unknown> = {
  "~standard": { version: 1, vendor: "pawl", validate: (value) => ({ value }) },
};

type ListPage = { readonly items: readonly unknown[]; readonly nextCursor?: string; readonly ttlMs?: number };

/** Checks a page of a list, but not its items. */
const listPageSchema: StandardSchemaV1<unknown, ListPage> = {
  "~standard": {
    version: 1,
    vendor: "pawl",
    validate(value) {
      const { nextCursor, ttlMs } = Object(value) as { readonly nextCursor?: unknown; readonly ttlMs?: unknown };
      const items = readRawList(value);
      if (items === undefined) return { issues: [{ message: "the reply has no list" }] };
      return {
        value: {
          items,
          ...(typeof nextCursor === "string" ? { nextCursor } : {}),
          ...(typeof ttlMs === "number" && ttlMs >= 0 ? { ttlMs } : {}),
        },
      };
    },
  },
};

async function createTransport(
  transport: McpTransport,
  sdk: typeof Sdk,
  recordStderr: (text: string) => void,
): Promise<Sdk.Transport> {
  if (transport.type === "http") {
    const { url, headers = {}, login } = transport;
    const send: typeof fetch =
      login === undefined ? (input, init) => fetch(input, init) : createLoginFetch(sdk, url, login);
    return new sdk.StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers },
      fetch: boundMessages(send),
    });
  }
  const { command, args = [], cwd, sandbox } = transport;
  const stdio: typeof StdioSdk = await import("@modelcontextprotocol/client/stdio");
  const env = { ...stdio.getDefaultEnvironment(), ...transport.env };
  if (sandbox !== undefined && sandbox.kind !== "none")
    return createSandboxedTransport(sdk, { command, args, env, cwd, sandbox }, recordStderr);
  const child = new stdio.StdioClientTransport({
    command,
    args: [...args],
    env,
    stderr: "pipe",
    ...(cwd === undefined ? {} : { cwd }),
  });
  const decoder = new StringDecoder("utf8");
  child.stderr?.on("data", (bytes: Buffer) => recordStderr(decoder.write(bytes)));
  return child;
}

/** The MCP library wraps the errors of its `fetch`. */
function findLoginNeeded(error: unknown): PawlError | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof PawlError && cause.code === "login_needed") return cause;
  return null;
}
