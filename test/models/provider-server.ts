/**
 * A model provider on this machine: a real HTTP server that speaks a provider's streaming wire format and answers from a
 * script. The formats are written from the providers' public documentation.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Json } from "../../src/core/data/message.js";
import { anthropicMessages } from "./formats/anthropic-messages.js";
import { googleGenerateContent } from "./formats/google-generate-content.js";
import { openaiChat } from "./formats/openai-chat.js";
import { openaiResponses } from "./formats/openai-responses.js";

export type ScriptedCall = {
  readonly name: string;
  /** The arguments; as text, they are sent as they are. */
  readonly input: Json;
  /** The provider's id of the call; one is made up where it is absent. */
  readonly id?: string;
};

/** How an answer's stream ends: as documented, or in the middle in one of the ways that streams break. */
export type Ending =
  | "whole"
  /** The connection is reset. */
  | "reset"
  /** The response ends, as if it were complete. */
  | "cut"
  /** The response ends within an event and within a character. */
  | "cut-in-delta"
  /** An event that is not JSON. */
  | "broken-json"
  /** The provider's own error event. */
  | "error-event"
  /** Nothing more comes until the client leaves. */
  | "hang";

export type ScriptedAnswer = {
  readonly type: "answer";
  readonly reasoning?: string;
  /** What the provider wants back with the reasoning, unchanged. */
  readonly signature?: string;
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  readonly usage?: {
    readonly input: number;
    readonly output: number;
    readonly cached?: number;
    readonly reasoning?: number;
  };
  /** Why the model stopped; by default it follows from the calls. */
  readonly finish?: "length" | "content-filter";
  readonly ending?: Ending;
};

export type FailureName =
  | "rate-limit"
  | "quota"
  | "overflow"
  | "unauthorized"
  | "overloaded"
  | "server-error"
  | "not-found"
  | "html";

export type ScriptedFailure = {
  readonly type: "failure";
  readonly failure: FailureName;
  readonly headers?: { readonly [name: string]: string };
};

/** A response as it goes over the wire. */
export type RawReply = {
  readonly type: "raw";
  readonly status: number;
  readonly headers?: { readonly [name: string]: string };
  readonly body: string;
  /** After the body nothing more comes until the client leaves. */
  readonly hang?: boolean;
};

export type ScriptedReply = ScriptedAnswer | ScriptedFailure | RawReply;

export type RecordedRequest = {
  readonly path: string;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
  // The bodies of four protocols; each test knows the one it reads.
  readonly body: { readonly [key: string]: Json };
  /** Resolves when the response is over or the client has left; says which. */
  readonly ended: Promise<"finished" | "left">;
};

/** A refusal as the provider writes it. */
export type WireFailure = { readonly status: number; readonly contentType?: string; readonly body: string };

export type ProviderFormat = {
  /** What comes before the path in the base URL. */
  readonly basePath: string;
  accepts(path: string): boolean;
  /** The events of a whole answer, each as it goes over the wire. */
  events(answer: ScriptedAnswer, about: { readonly model: string; readonly turn: number }): readonly string[];
  /** The error that the provider sends inside a stream. */
  errorEvent: string;
  failure(name: Exclude<FailureName, "html">, key: string): WireFailure;
};

export const formats = {
  "anthropic-messages": anthropicMessages,
  "openai-responses": openaiResponses,
  "openai-chat": openaiChat,
  "google-generate-content": googleGenerateContent,
} as const satisfies Record<string, ProviderFormat>;

export type FormatName = keyof typeof formats;

export type ProviderServer = {
  readonly baseURL: string;
  readonly requests: readonly RecordedRequest[];
  /** Resolves when the response to the first request is under way. */
  readonly firstRequest: Promise<void>;
  close(): Promise<void>;
};

/** What is answered: each reply in turn, or what a function makes of a request. */
export type Script = readonly ScriptedReply[] | ((request: RecordedRequest, turn: number) => ScriptedReply);

/** Starts a server on a free port of this machine. A request beyond the end of the script gets status 500. */
export async function startProviderServer(formatName: FormatName, script: Script): Promise<ProviderServer> {
  const format: ProviderFormat = formats[formatName];
  const requests: RecordedRequest[] = [];
  let resolveFirstRequest = () => {};
  const firstRequest = new Promise<void>((resolve) => {
    resolveFirstRequest = resolve;
  });
  const server = createServer((request, response) => {
    void respond(request, response, format, script, requests).then(resolveFirstRequest);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseURL: `http://127.0.0.1:${port}${format.basePath}`,
    requests,
    firstRequest,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  format: ProviderFormat,
  script: Script,
  requests: RecordedRequest[],
): Promise<void> {
  const ended = new Promise<"finished" | "left">((resolve) => {
    response.on("close", () => resolve(response.writableFinished ? "finished" : "left"));
  });
  const body = await readBody(request);
  const path = request.url ?? "";
  if (!format.accepts(path.split("?")[0] ?? "")) return sendFailure(response, { status: 404, body: "{}" });
  const recorded: RecordedRequest = { path, headers: request.headers, body, ended };
  requests.push(recorded);

  const turn = requests.length;
  const reply = typeof script === "function" ? script(recorded, turn) : script[turn - 1];
  if (reply === undefined) return sendFailure(response, format.failure("server-error", ""));
  if (reply.type === "raw")
    return reply.hang === true ? hang(response, reply) : sendFailure(response, reply, reply.headers);
  if (reply.type === "failure") {
    const failure = reply.failure === "html" ? badGateway : format.failure(reply.failure, readApiKey(request));
    return sendFailure(response, failure, reply.headers);
  }
  const model = typeof body.model === "string" ? body.model : "model";
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  return stream(response, format, format.events(reply, { model, turn }), reply.ending ?? "whole");
}

const badGateway: WireFailure = {
  status: 502,
  contentType: "text/html",
  body: "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body><h1>502</h1>nginx</body></html>",
};

function sendFailure(response: ServerResponse, failure: WireFailure, headers: ScriptedFailure["headers"] = {}): void {
  response.writeHead(failure.status, { "content-type": failure.contentType ?? "application/json", ...headers });
  response.end(failure.body);
}

function hang(response: ServerResponse, { status, headers = {}, body }: RawReply): void {
  response.writeHead(status, headers);
  response.flushHeaders();
  if (body !== "") response.write(body);
}

async function stream(
  response: ServerResponse,
  format: ProviderFormat,
  events: readonly string[],
  ending: Ending,
): Promise<void> {
  if (ending === "whole") {
    await write(response, Buffer.from(events.join("")));
    response.end();
    return;
  }
  const half = Math.ceil(events.length / 2);
  await write(response, Buffer.from(events.slice(0, half).join("")));
  switch (ending) {
    case "reset":
      response.socket?.resetAndDestroy();
      return;
    case "cut":
      response.end();
      return;
    case "cut-in-delta":
      response.end(cutInCharacter(events.slice(half).join("")));
      return;
    case "broken-json":
      response.end('data: {"type": "broken", \n\n');
      return;
    case "error-event":
      response.end(format.errorEvent);
      return;
    case "hang":
      return;
  }
}

/** In pieces that are no multiple of anything, so that characters and events are torn apart. */
async function write(response: ServerResponse, bytes: Buffer): Promise<void> {
  const size = 61;
  for (let at = 0; at < bytes.length; at += size) {
    await new Promise<void>((resolve) => response.write(bytes.subarray(at, at + size), () => resolve()));
  }
}

/** Up to the middle of the first character that has several bytes, or else to the middle. */
function cutInCharacter(text: string): Buffer {
  const bytes = Buffer.from(text);
  const characterStart = bytes.findIndex((byte) => byte >= 0x80);
  return bytes.subarray(0, characterStart === -1 ? Math.floor(bytes.length / 2) : characterStart + 1);
}

async function readBody(request: IncomingMessage): Promise<{ readonly [key: string]: Json }> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text === "" ? {} : (JSON.parse(text) as { readonly [key: string]: Json });
}

function readApiKey(request: IncomingMessage): string {
  const headers = request.headers;
  const key = headers["x-api-key"] ?? headers["x-goog-api-key"] ?? headers.authorization?.replace("Bearer ", "");
  return String(key ?? "");
}
