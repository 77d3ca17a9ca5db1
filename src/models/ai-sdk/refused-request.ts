/**
 * Names the tool or the pictures in a refused request: a provider refers to tools and messages by index.
 */
import { isObject } from "../../core/data/is-object.js";
import type { DeltaBody } from "../../ports/model.js";
import type { CallOptions } from "./call-options.js";

const maxPictureNames = 5;

/** If the request was refused as invalid, appends the tool or the pictures in question to the error's message. */
export function addRefusalDetail(delta: DeltaBody, options: CallOptions | undefined): DeltaBody {
  if (options === undefined || delta.kind !== "error" || delta.failure.kind !== "invalid_request") return delta;
  const { message } = delta.failure;
  const detail = describeTool(message, options) ?? describePictures(message, options);
  return detail === null ? delta : { ...delta, failure: { ...delta.failure, message: `${message} (${detail})` } };
}

/** Matches both `tools.12.custom.input_schema` and `tools[12].function.parameters`. */
function describeTool(message: string, { tools = [] }: CallOptions): string | null {
  const [, index] = /\btools[.[](\d{1,4})\b/.exec(message) ?? [];
  const tool = index === undefined ? undefined : tools[Number(index)];
  return tool === undefined ? null : `This is the tool ${tool.name}. Remove it to continue.`;
}

function describePictures(message: string, { prompt }: CallOptions): string | null {
  if (!/\bimages?\b|\bpictures?\b/i.test(message)) return null;
  const names: string[] = [];
  for (const { role, content } of prompt) {
    if (role === "system") continue;
    for (const part of content) {
      const parts = part.type === "tool-result" && part.output.type === "content" ? part.output.value : [part];
      for (const item of parts)
        if ("mediaType" in item && item.mediaType.startsWith("image/"))
          names.push("filename" in item && item.filename !== undefined ? item.filename : "an unnamed picture");
    }
  }
  if (names.length === 0) return null;
  const listedNames = names.slice(-maxPictureNames).join(", ");
  const prefix = names.length > maxPictureNames ? `the last of ${names.length} are ` : "";
  return `The pictures in the request: ${prefix}${listedNames}. To continue without a picture, fork the session before the message that contains it.`;
}

/** Whether a provider refused the request as invalid, with a message that names one of these options. */
export function isRefusalOf(error: unknown, options: RegExp): boolean {
  if (!isObject(error) || (error.statusCode !== 400 && error.statusCode !== 422)) return false;
  return [error.message, error.responseBody].some(
    (text) => typeof text === "string" && options.test(text.slice(0, 10_000)),
  );
}
