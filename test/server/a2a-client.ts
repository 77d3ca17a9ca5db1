/**
 * The client of `@a2a-js/sdk`, with a token and messages of a few words.
 */
import { randomUUID } from "node:crypto";
import { type Message, Role, type SendMessageRequest, type StreamResponse, type Task, TaskState } from "@a2a-js/sdk";
import { type Client, ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from "@a2a-js/sdk/client";

export async function connectA2a(url: string, token: string): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) =>
    fetch(input, { ...init, headers: { ...init?.headers, authorization: `Bearer ${token}` } });
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  });
  return factory.createFromUrl(url);
}

export const textPart = (value: string): Message["parts"][number] => ({
  content: { $case: "text", value },
  metadata: undefined,
  filename: "",
  mediaType: "text/plain",
});

export function say(text: string, fields: Partial<Message> = {}, returnImmediately = false): SendMessageRequest {
  return {
    tenant: "",
    message: {
      messageId: randomUUID(),
      contextId: "",
      taskId: "",
      role: Role.ROLE_USER,
      parts: [textPart(text)],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...fields,
    },
    configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately },
    metadata: undefined,
  };
}

export async function sendTask(client: Client, request: SendMessageRequest): Promise<Task> {
  const reply = await client.sendMessage(request);
  if ("messageId" in reply) throw new Error("The agent replied with a message, not with a task.");
  return reply;
}

export const byId = (id: string) => ({ id, tenant: "", metadata: undefined });

export const stateOf = ({ status }: Pick<Task, "status">) => TaskState[status?.state ?? TaskState.UNRECOGNIZED];

/** The text of a task's question, or of its artifact. */
export function textsOf(parts: Message["parts"] | undefined): readonly string[] {
  return (parts ?? []).flatMap(({ content }) => (content?.$case === "text" ? [content.value] : []));
}

/** What a stream sent, in short: the state of each task and status, and the text of each artifact. */
export async function collectStream(stream: AsyncIterable<StreamResponse>): Promise<readonly string[]> {
  const seen: string[] = [];
  for await (const { payload } of stream) {
    if (payload?.$case === "artifactUpdate") seen.push(`artifact: ${textsOf(payload.value.artifact?.parts).join()}`);
    else if (payload?.$case === "task") seen.push(`task: ${stateOf(payload.value)}`);
    else if (payload?.$case === "statusUpdate")
      seen.push([stateOf(payload.value), ...textsOf(payload.value.status?.message?.parts)].join(": "));
  }
  return seen;
}
