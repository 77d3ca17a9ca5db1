/**
 * The options of an MCP server, and how a server is shown and pinned (SEC-10).
 */

import { createHash } from "node:crypto";
import {
  aBoolean,
  aFunction,
  anArray,
  anObject,
  anyValue,
  aSignal,
  checkOptions,
  nonEmptyString,
  type OptionTable,
  oneOf,
  required,
  timeLimit,
} from "../../check-options.js";
import { showHidden } from "../../core/data/hidden-characters.js";
import { canonicalJson } from "../../core/data/json.js";
import { PawlError } from "../../errors.js";
import type { CommandSandbox } from "../sandbox/contract.js";
import type { McpLogin } from "./login/contract.js";
import { checkLogin } from "./login/login-options.js";

/** How to reach a server. */
export type McpTransport =
  /** A program on this machine, which Pawl starts. */
  | {
      readonly type: "stdio";
      /** The program that is started. */
      readonly command: string;
      /** Its arguments. Default: none. */
      readonly args?: readonly string[];
      /**
       * Variables beyond HOME, LOGNAME, PATH, SHELL, TERM and USER. The server gets no other variables of this process.
       */
      readonly env?: Readonly<Record<string, string>>;
      /** The folder in which it is started. Default: that of this process, or the sandbox's root. */
      readonly cwd?: string;
      /**
       * The sandbox in which it runs, made with `createSandbox`. It reaches and sees only what the sandbox names. Give it a sandbox that
       * no commands of the model use. Default, and with a sandbox of the kind `none`: it runs without one.
       */
      readonly sandbox?: CommandSandbox;
    }
  /** A server over HTTP. */
  | {
      readonly type: "http";
      /** The address of the server. */
      readonly url: string;
      /** Headers of every request, for example one with a token. Default: none. */
      readonly headers?: Readonly<Record<string, string>>;
      /** Logs in by OAuth when the server requires it. Default: a server that requires a login cannot be reached. */
      readonly login?: McpLogin;
    };

/**
 * Which calls need approval. `ask`: all calls. `hints`: calls of tools that the server does not mark as read-only,
 * although a server may lie. `all`: no calls. In every case, calls of a tool that is new or differs from its pin need
 * approval.
 */
export type McpTrust = "ask" | "hints" | "all";

/**
 * Which version of the protocol is spoken. The questions of a server that speaks `2026-07-28` outlive the process that
 * hears them; those of `2025-11-25` do not. `auto`: the server says which one, and a server that is a program is started
 * once more for that, briefly.
 */
export type McpProtocol = "2025-11-25" | "2026-07-28" | "auto";

/** A server and its tools as SHA-256 hashes. Store them, and pass them as `pins` at the next connection. */
export type McpPins = {
  /** The hash of the address, or of the command with its arguments, folder and names of variables. */
  readonly server: string;
  /** The hashes of each tool's description, input schema and annotations, by the server's name for the tool. */
  readonly tools: Readonly<Record<string, string>>;
  /** The hash of the server's instructions, if they are used. */
  readonly instructions?: string;
};

/** How a server is reached, and which of its tools are offered. */
export type McpServerOptions = {
  /** The prefix of its tools' names: `files` makes `files_read_file`. 1 to 32 letters, digits, "_" and "-". */
  readonly name: string;
  /** A program that is started, or an address. */
  readonly transport: McpTransport;
  /** Default: `ask`. */
  readonly trust?: McpTrust;
  /** Default: `auto` over HTTP, and `2025-11-25` for a program, which is then started once only. */
  readonly protocol?: McpProtocol;
  /** The pins that were last approved. Default: those of the server at the time of connection. */
  readonly pins?: McpPins;
  /** Use only these tools, by the server's names for them. Default: all. */
  readonly tools?: readonly string[];
  /**
   * Whether requests leave its tools out, and the model finds them: the `defer` of each tool. "auto": if the tools of all
   * servers with "auto" together take more than a tenth of the model's context window. Default: false.
   */
  readonly defer?: boolean | "auto";
  /**
   * Whether `sources` contains the server's instructions for the model: at most 4,096 characters, marked as untrusted. Default: false.
   */
  readonly instructions?: boolean;
  /**
   * Whether the model can read the server's resources, with the tool `NAME_read_resource`. Its calls need approval unless `trust` is
   * `hints` or `all`. Default: false.
   */
  readonly resources?: boolean;
  /**
   * Whether calls of the server's tools carry the `traceparent` of the call in `_meta`, so that the server's spans are in the trace
   * of the run. The server learns the trace id, which is the same for all calls of a run. Default: false.
   */
  readonly trace?: boolean;
  /** Milliseconds that the server may be silent during a call. Progress that it reports counts. Default: 60,000. */
  readonly timeoutMs?: number;
  /**
   * Milliseconds that a person has to answer a question of the server; then the server is told that it was cancelled.
   * Default: no limit with protocol 2026-07-28. An hour with 2025-11-25, because the run waits for the answer.
   */
  readonly answerTimeoutMs?: number;
  /** Milliseconds that the server may take to connect, and to list its tools. Default: 30,000 for each. */
  readonly connectTimeoutMs?: number;
  /** Ends the attempt to connect, with its reason. Once the server is connected, it does nothing. */
  readonly signal?: AbortSignal;
  /** Called with what a server that is a program writes to its standard error, piece by piece. */
  readonly onStderr?: (text: string) => void;
};

/** The options of a request to a server. */
export type McpRequestOptions = {
  /** Ends the wait. Default: it ends after the server's `timeoutMs`. */
  readonly signal?: AbortSignal;
};

const serverRules: OptionTable<McpServerOptions> = {
  name: anyValue,
  transport: required(anObject),
  trust: oneOf("ask", "hints", "all"),
  protocol: oneOf("2025-11-25", "2026-07-28", "auto"),
  pins: anObject,
  tools: anArray,
  defer: { accepts: (value) => typeof value === "boolean" || value === "auto", expected: 'true, false or "auto"' },
  instructions: aBoolean,
  resources: aBoolean,
  trace: aBoolean,
  timeoutMs: timeLimit,
  answerTimeoutMs: timeLimit,
  connectTimeoutMs: timeLimit,
  signal: aSignal,
  onStderr: aFunction,
};

type StdioTransport = Extract<McpTransport, { type: "stdio" }>;
type HttpTransport = Extract<McpTransport, { type: "http" }>;

const stdioRules: OptionTable<StdioTransport> = {
  type: anyValue,
  command: nonEmptyString,
  args: anArray,
  env: anObject,
  cwd: nonEmptyString,
  sandbox: anObject,
};
const httpRules: OptionTable<HttpTransport> = { type: anyValue, url: anyValue, headers: anObject, login: anObject };

function checkTransport(transport: McpTransport): void {
  if (transport.type === "stdio") checkOptions("transport", stdioRules, transport);
  else if (transport.type === "http") checkOptions("transport", httpRules, transport);
  else throw new PawlError("bad_configuration", 'The transport of an MCP server must be of type "stdio" or "http".');
}

/** @throws PawlError `bad_configuration` */
export function checkMcpOptions(options: McpServerOptions): void {
  checkOptions("An MCP server", serverRules, options, {
    otherNames: { command: "transport.command", url: "transport.url" },
  });
  const { name, transport, pins } = options;
  checkTransport(transport);
  if (!/^[a-zA-Z0-9_-]{1,32}$/.test(name))
    throw new PawlError(
      "bad_configuration",
      `An MCP server cannot be named ${JSON.stringify(name)}. Use 1 to 32 letters, digits, "_" and "-".`,
    );
  if (transport.type === "http") {
    checkUrl(name, transport.url);
    if (transport.login !== undefined) checkLogin(transport.url, transport.login);
  }
  if (pins !== undefined && pins.server !== hashServer(transport))
    throw new PawlError(
      "mcp_server_changed",
      `The MCP server "${name}" is not the pinned server: it is now ${formatServer(transport)}. Check it, and pin it again.`,
    );
}

function checkUrl(name: string, url: string): void {
  const protocol = URL.canParse(url) ? new URL(url).protocol : "";
  if (protocol !== "http:" && protocol !== "https:")
    throw new PawlError(
      "bad_configuration",
      `The MCP server "${name}" has the address ${JSON.stringify(url)}. Use one that begins with http:// or https://.`,
    );
}

/**
 * The whole command or address, with control characters made visible. The values of variables and headers are left out,
 * because they may be secrets.
 */
export function formatServer(transport: McpTransport): string {
  if (transport.type === "http") return showHidden(transport.url);
  const { command, args = [], env = {}, cwd } = transport;
  const words = [command, ...args].map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word)));
  const names = Object.keys(env);
  const folderNote = cwd === undefined ? "" : ` in ${JSON.stringify(cwd)}`;
  return showHidden(`${words.join(" ")}${folderNote}${names.length === 0 ? "" : ` with ${names.join(", ")}`}`);
}

/** A server as messages name it. */
export function formatPeer(name: string): string {
  return `The MCP server "${name}"`;
}

export function hashServer(transport: McpTransport): string {
  if (transport.type === "http") return hashJson({ url: transport.url });
  const { command, args = [], env = {}, cwd = null } = transport;
  return hashJson({ command, args, cwd, env: Object.keys(env) });
}

export function hashJson(value: Parameters<typeof canonicalJson>[0]): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}
