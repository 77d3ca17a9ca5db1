/**
 * What a refused request is about, in the words of the session: a provider counts its tools and messages by number.
 */
import type { DeltaBody } from "../../ports/model.js";
import type { CallOptions } from "./call-options.js";
import { isObject } from "./part.js";

const maxNamed = 5;

/** The delta; for a request that was refused as invalid, with the tool or the pictures that the refusal is about. */
export function namingRefused(delta: DeltaBody, options: CallOptions | undefined): DeltaBody {
  if (options === undefined || delta.kind !== "error" || delta.failure.kind !== "invalid_request") return delta;
  const { message } = delta.failure;
  const named = nameOfTool(message, options) ?? nameOfPictures(message, options);
  return named === null ? delta : { ...delta, failure: { ...delta.failure, message: `${message} (${named})` } };
}

/** Both `tools.12.custom.input_schema` and `tools[12].function.parameters`. */
function nameOfTool(message: string, { tools = [] }: CallOptions): string | null {
  const [, index] = /\btools[.[](\d{1,4})\b/.exec(message) ?? [];
  const tool = index === undefined ? undefined : tools[Number(index)];
  return tool === undefined ? null : `That is the tool ${tool.name}. Switch it off to go on.`;
}

function nameOfPictures(message: string, { prompt }: CallOptions): string | null {
  if (!/\bimages?\b|\bpictures?\b/i.test(message)) return null;
  const names: string[] = [];
  for (const { role, content } of prompt) {
    if (role === "system") continue;
    for (const part of content) {
      const parts = part.type === "tool-result" && part.output.type === "content" ? part.output.value : [part];
      for (const one of parts)
        if ("mediaType" in one && one.mediaType.startsWith("image/"))
          names.push("filename" in one && one.filename !== undefined ? one.filename : "one without a name");
    }
  }
  if (names.length === 0) return null;
  const shown = names.slice(-maxNamed).join(", ");
  const more = names.length > maxNamed ? `the last of ${names.length} are ` : "";
  return `The pictures in the request: ${more}${shown}. To go on without one, fork the session before the message that has it.`;
}

/** Whether an invalid request was refused with words that name one of these options. */
export function isRefusalOf(error: unknown, options: RegExp): boolean {
  if (!isObject(error) || (error.statusCode !== 400 && error.statusCode !== 422)) return false;
  return [error.message, error.responseBody].some(
    (text) => typeof text === "string" && options.test(text.slice(0, 10_000)),
  );
}
