/**
 * Model servers as people run them on their own machine: llama.cpp, Ollama, LM Studio and vLLM, written from their documentation.
 *
 * Each lists its models, tells its context window in its own way, and streams chat completions. Like llama.cpp, a server promises to keep
 * the connection and is done with it as soon as an answer is complete: a request that is on its way over it finds it closed.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { onTestFinished } from "vitest";
import { openaiChat } from "../models/formats/openai-chat.js";
import type { ScriptedAnswer } from "../models/provider-server.js";
import { llamaCpp, lmStudio, ollama, vllm } from "./kinds.js";

export type LocalServerOptions = {
  /** What the model answers; by default a sentence. Counted from 1. */
  readonly answer?: (turn: number, request: ChatRequest) => ScriptedAnswer;
  /** The context window that the server tells. */
  readonly contextWindow?: number;
  /** The forms of `response_format` that it refuses. */
  readonly refusedFormats?: readonly ResponseFormat["type"][];
  /** Every chat request gets this status. */
  readonly chatStatus?: number;
};

export type ResponseFormat = {
  readonly type: "json_schema" | "json_object" | "text";
  readonly json_schema?: { readonly schema: unknown };
};

export type ChatRequest = {
  readonly model: string;
  readonly messages?: readonly unknown[];
  readonly response_format?: ResponseFormat;
};

/** What differs between the servers. A path that is not in `pages` gets `unknownPage`. */
export type ServerKind = {
  /** The provider's name in a registry, and the variable with the server's address. */
  readonly provider: string;
  readonly address: string;
  readonly modelId: string;
  readonly pages: (contextWindow: number | undefined) => { readonly [path: string]: unknown };
  readonly unknownPage: JsonReply;
  /** The answer to a chat request without messages. */
  readonly noMessages: JsonReply;
  readonly refusedFormat: JsonReply;
};

export type JsonReply = { readonly status: number; readonly body: unknown };

export const serverKinds = { llamaCpp, ollama, lmStudio, vllm } as const;

export type LocalServer = {
  readonly kind: ServerKind;
  /** The address for the server's variable, with `/v1`. */
  readonly address: string;
  /** The variable with the address. */
  readonly env: { readonly [name: string]: string };
  /** The chat requests with messages. */
  readonly chats: readonly ChatRequest[];
  /** How many connections were opened. */
  readonly connections: () => number;
  /** How many requests of any kind came. */
  readonly requests: () => number;
};

/** The server is closed when the test has finished. */
export async function startLocalServer(kind: ServerKind, options: LocalServerOptions = {}): Promise<LocalServer> {
  const chats: ChatRequest[] = [];
  const counts = { connections: 0, requests: 0 };
  const usedSockets = new WeakSet<Socket>();
  const pages = kind.pages(options.contextWindow);
  const server = createServer(async (request, response) => {
    counts.requests += 1;
    if (usedSockets.has(request.socket)) {
      request.socket.destroy();
      return;
    }
    usedSockets.add(request.socket);
    const body = await readBody(request);
    const path = request.url ?? "";
    if (path === "/v1/chat/completions") respondToChat(response, body as ChatRequest);
    else send(response, Object.hasOwn(pages, path) ? { status: 200, body: pages[path] } : kind.unknownPage);
  });
  server.on("connection", () => {
    counts.connections += 1;
  });

  function respondToChat(response: ServerResponse, request: ChatRequest): void {
    const refusal = findRefusal(request);
    if (refusal !== null) {
      send(response, refusal);
      return;
    }
    const turn = chats.length;
    const scripted = options.answer?.(turn, request) ?? { type: "answer", text: "Good evening." };
    response.writeHead(200, { "content-type": "text/event-stream", connection: "keep-alive" });
    response.end(openaiChat.events(scripted, { model: request.model, turn }).join(""));
  }

  function findRefusal(request: ChatRequest): JsonReply | null {
    if (options.chatStatus !== undefined) return { status: options.chatStatus, body: {} };
    if ((request.messages ?? []).length === 0) return kind.noMessages;
    chats.push(request);
    const format = request.response_format?.type;
    return format !== undefined && options.refusedFormats?.includes(format) === true ? kind.refusedFormat : null;
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return {
    kind,
    address,
    env: { [kind.address]: address },
    chats,
    connections: () => counts.connections,
    requests: () => counts.requests,
  };
}

function send(response: ServerResponse, { status, body }: JsonReply): void {
  response.writeHead(status, { "content-type": "application/json", connection: "keep-alive" });
  response.end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text === "" ? {} : JSON.parse(text);
}
