/**
 * The client of ACP's own package, unmodified, with a person who answers.
 */
import { setImmediate } from "node:timers/promises";
import {
  type AgentRequestMethod,
  type AgentRequestParamsByMethod,
  type AgentRequestResponsesByMethod,
  type AnyMessage,
  type ClientCapabilities,
  type ClientConnection,
  type CreateElicitationResponse,
  client,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
  type Stream,
} from "@agentclientprotocol/sdk";

export type Person = {
  readonly capabilities?: ClientCapabilities;
  /** Chooses an option by its kind or id; null cancels. */
  readonly answer?: (request: RequestPermissionRequest, signal: AbortSignal) => string | null | Promise<string | null>;
  readonly fill?: (form: unknown) => CreateElicitationResponse;
};

export type AcpClient = {
  readonly connection: ClientConnection;
  readonly request: <Method extends AgentRequestMethod>(
    method: Method,
    params: AgentRequestParamsByMethod[Method],
  ) => Promise<AgentRequestResponsesByMethod[Method]>;
  readonly cancel: (sessionId: string) => Promise<void>;
  readonly prompt: (sessionId: string, text: string) => Promise<{ readonly stopReason: string }>;
  /** All updates so far, of all sessions. */
  readonly updates: readonly SessionUpdate[];
  readonly permissionRequests: readonly RequestPermissionRequest[];
  /** Resolves when an update fits. */
  readonly waitForUpdate: (isMatch: (update: SessionUpdate) => boolean) => Promise<void>;
};

export async function connectClient(stream: Stream, person: Person = {}): Promise<AcpClient> {
  const updates: SessionUpdate[] = [];
  const permissionRequests: RequestPermissionRequest[] = [];
  const listeners = new Set<() => void>();
  const connection = client({ name: "test" })
    .onRequest("session/request_permission", async ({ params, signal }): Promise<RequestPermissionResponse> => {
      permissionRequests.push(params);
      const chosen = (await person.answer?.(params, signal)) ?? null;
      return { outcome: chosen === null ? { outcome: "cancelled" } : { outcome: "selected", optionId: chosen } };
    })
    .onRequest("elicitation/create", ({ params }) => person.fill?.(params) ?? { action: "decline" })
    .onNotification("session/update", ({ params }) => {
      updates.push(params.update);
      for (const listener of listeners) listener();
    })
    .connect(stream);
  const { agent } = connection;
  const clientCapabilities = person.capabilities ?? {};
  await agent.request("initialize", { protocolVersion: 1, clientCapabilities });
  // The client calls the handlers of what came before an answer only some microtasks later.
  const requestAndFlush: AcpClient["request"] = (method, params) =>
    agent.request(method, params).finally(() => setImmediate());
  const waitForUpdate = (isMatch: (update: SessionUpdate) => boolean) =>
    new Promise<void>((resolve) => {
      const check = () => {
        if (!updates.some(isMatch)) return;
        listeners.delete(check);
        resolve();
      };
      listeners.add(check);
      check();
    });
  return {
    connection,
    request: requestAndFlush,
    cancel: (sessionId) => agent.notify("session/cancel", { sessionId }),
    prompt: (sessionId, text) => requestAndFlush("session/prompt", { sessionId, prompt: [{ type: "text", text }] }),
    updates,
    permissionRequests,
    waitForUpdate,
  };
}

/** Two ends of one connection. */
export function createStreamPair(): readonly [Stream, Stream] {
  const clientToAgent = new TransformStream<AnyMessage, AnyMessage>();
  const agentToClient = new TransformStream<AnyMessage, AnyMessage>();
  return [
    { readable: clientToAgent.readable, writable: agentToClient.writable },
    { readable: agentToClient.readable, writable: clientToAgent.writable },
  ];
}

/** What was said, piece by piece. */
export function collectText(updates: readonly SessionUpdate[], kind: SessionUpdate["sessionUpdate"]): string {
  return updates
    .map((update) =>
      update.sessionUpdate === kind &&
      "content" in update &&
      update.content !== null &&
      "text" in Object(update.content)
        ? (update.content as { readonly text: string }).text
        : "",
    )
    .join("");
}
