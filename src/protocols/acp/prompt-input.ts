/**
 * Converts an editor's prompt to the input of a run, and back for an editor that loads a session.
 */
import type { ContentBlock } from "@agentclientprotocol/sdk";
import { PawlError, type UserPart } from "../../index.js";

/** @throws PawlError `bad_input` */
export function toInput(prompt: readonly ContentBlock[]): readonly UserPart[] {
  if (prompt.length === 0) throw new PawlError("bad_input", "The prompt is empty.");
  return prompt.map(toPart);
}

function toPart(block: ContentBlock): UserPart {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
      return { type: "file", mediaType: block.mimeType, data: block.data };
    case "resource_link":
      return { type: "text", text: `[${block.title ?? block.name}](${block.uri})` };
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return { type: "text", text: `The editor sends ${resource.uri}:\n\n${resource.text}` };
      const mediaType = resource.mimeType ?? "application/octet-stream";
      return { type: "file", mediaType, data: resource.blob, filename: resource.uri };
    }
    case "audio":
      throw new PawlError("bad_input", "Audio is not supported in a prompt. Send text, images or files.");
  }
}

/** Converts a file to an image, a link, or its name. */
export function toContentBlock(part: UserPart): ContentBlock {
  if (part.type === "text") return { type: "text", text: part.text };
  const { data, filename, mediaType } = part;
  const isUrl = /^(?:https?|data):/.test(data);
  if (mediaType.startsWith("image/") && !isUrl) return { type: "image", mimeType: mediaType, data };
  const name = filename ?? mediaType;
  return isUrl && !data.startsWith("data:")
    ? { type: "resource_link", name, uri: data }
    : { type: "text", text: `[${name}]` };
}
