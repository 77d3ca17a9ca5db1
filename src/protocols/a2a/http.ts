/**
 * A2A over HTTP: JSON-RPC, and streams of JSON-RPC responses. Each request is independent, so any process can answer the next one.
 */
import type * as Sdk from "@a2a-js/sdk";
import type * as SdkErrors from "@a2a-js/sdk/errors";
import type * as SdkServer from "@a2a-js/sdk/server";
import { PawlError } from "../../index.js";
import { importInstalledPackage } from "../../models/index.js";
import { createA2aHandler } from "./handler.js";
import type { A2aHost } from "./host.js";

/** The response: one object, or a stream whose first object has been read. */
export type A2aReply =
  | { readonly type: "one"; readonly json: object }
  | { readonly type: "stream"; readonly events: AsyncGenerator<object, void, undefined> };

/** Handles a request whose body has been read. The `host` is specific to the caller. */
export type A2aHttp = (request: Request, body: unknown, host: A2aHost) => Promise<A2aReply>;

const a2aPackage = "@a2a-js/sdk";
const versionHeader = "a2a-version";
/** The version of clients that send no header. */
const versionWithoutHeader = "0.3";
const supportedVersion = "1.0";
const streamMethods: ReadonlySet<unknown> = new Set(["SendStreamingMessage", "SubscribeToTask"]);

/** Whether the request asks for a stream. */
export function isStreamRequest(body: unknown): boolean {
  return streamMethods.has((Object(body) as { readonly method?: unknown }).method);
}

/** @throws PawlError `missing_package` */
export async function createA2aHttp(): Promise<A2aHttp> {
  const [enums, errors, server] = (await Promise.all(
    [a2aPackage, `${a2aPackage}/errors`, `${a2aPackage}/server`].map(importInstalledPackage),
  )) as [typeof Sdk | undefined, typeof SdkErrors | undefined, typeof SdkServer | undefined];
  if (enums === undefined || errors === undefined || server === undefined)
    throw new PawlError(
      "missing_package",
      `A2A needs the package ${a2aPackage}, which is not installed. Install it: npm install ${a2aPackage}`,
    );
  const { JsonRpcTransportHandler, ServerCallContext } = server;
  const { A2AError, VersionNotSupportedError } = errors;
  const toErrorReply = (body: unknown, error: unknown): object => {
    const { id } = Object(body) as { readonly id?: unknown };
    const isId = typeof id === "string" || typeof id === "number";
    const mapped = JsonRpcTransportHandler.mapToJSONRPCError(error);
    return { jsonrpc: "2.0", id: isId ? id : null, error: mapped };
  };
  const refuse = (body: unknown, error: unknown): A2aReply => ({ type: "one", json: toErrorReply(body, error) });
  /** A protocol error ends a stream with the same object that it would have as the whole response. */
  async function* endWithError(
    body: unknown,
    events: AsyncGenerator<object, void, undefined>,
  ): AsyncGenerator<object, void, undefined> {
    try {
      yield* events;
    } catch (error) {
      if (!(error instanceof A2AError)) throw error;
      yield toErrorReply(body, error);
    }
  }
  return async (request, body, host) => {
    const requestedVersion = request.headers.get(versionHeader) || versionWithoutHeader;
    if (requestedVersion !== supportedVersion)
      return refuse(
        body,
        new VersionNotSupportedError(
          `This server supports A2A version ${supportedVersion}, but the request asks for version ${requestedVersion.slice(0, 20)}.`,
        ),
      );
    const transport = new JsonRpcTransportHandler(createA2aHandler({ enums, errors }, host));
    const context = new ServerCallContext({ requestedVersion });
    const reply = await transport.handle(body as { [name: string]: unknown }, context);
    if (!(Symbol.asyncIterator in reply)) return { type: "one", json: reply };
    try {
      const first = await reply.next();
      return { type: "stream", events: endWithError(body, prepend(first, reply)) };
    } catch (error) {
      return refuse(body, error);
    }
  };
}

async function* prepend<Item>(
  first: IteratorResult<Item, void>,
  rest: AsyncGenerator<Item, void, undefined>,
): AsyncGenerator<Item, void, undefined> {
  try {
    if (first.done === true) return;
    yield first.value;
    yield* rest;
  } finally {
    await rest.return();
  }
}
