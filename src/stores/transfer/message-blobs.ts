/**
 * The blobs that an inbox message refers to.
 */
import type { Message } from "../../core/data/message.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import { blobsOf, blobsOfOutput } from "../../core/transcript/blob-references.js";

/**
 * Lists the blobs of a message. A history is stored in blobs, whose messages may refer to more blobs.
 * @param read returns the bytes of a blob
 */
export async function listMessageBlobs(
  { body }: InboxMessage,
  read: (hash: string) => Promise<Uint8Array>,
): Promise<readonly string[]> {
  if (body.type === "result")
    return [body.output, body.returned].flatMap((output) => (output === undefined ? [] : blobsOfOutput(output)));
  if (body.type === "answer" && body.answer.type === "result") return blobsOfOutput(body.answer.output);
  if (!("history" in body) || body.history === undefined) return [];
  const hashes: string[] = [];
  for (const part of body.history.parts) {
    if (typeof part !== "string") hashes.push(...listBlobs(part));
    else hashes.push(part, ...listBlobs(JSON.parse(new TextDecoder().decode(await read(part))) as readonly Message[]));
  }
  return hashes;
}

function listBlobs(messages: readonly Message[]): readonly string[] {
  return blobsOf({ type: "history_added", messages, source: "pawl", at: 0 });
}
