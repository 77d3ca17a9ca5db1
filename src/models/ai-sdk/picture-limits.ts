/**
 * Omits pictures that a provider is documented to refuse. A note replaces each of them, in the request only. Otherwise one such
 * picture would make every later request of the session fail, because each contains the same pictures.
 *
 * 1. The same list of messages always omits the same pictures. With more messages, older pictures may be omitted as well.
 * 2. Providers that are not in the table get the pictures in the log unchanged.
 */
import type { FilePart, Message } from "../../core/data/message.js";
import { type PictureHeader, readPictureHeader } from "./picture-header.js";
import type { ModelIdentity } from "./tool-call-ids.js";

type PictureLimits = {
  /** The provider's name in messages. */
  readonly provider: string;
  readonly mediaTypes: ReadonlySet<string>;
  /** Characters of base64 in one picture. */
  readonly maxCharacters?: number;
  /** Pixels on a side. */
  readonly maxSide?: number;
  /** In a request with more pictures than `above`, each has at most `maxSide` pixels on a side. */
  readonly many?: { readonly above: number; readonly maxSide: number };
  readonly maxPictures: number;
  /** Characters of base64 of all pictures in a request. Below the documented limit, to leave room for text. */
  readonly maxTotal: number;
};

const commonTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const googleTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"]);

const MiB = 1024 * 1024;

/**
 * https://platform.claude.com/docs/en/build-with-claude/vision#general-limits, and "image exceeds 5 MB maximum: … bytes >
 * 5242880 bytes", which counts base64. A request may have 32 MB, less on other platforms.
 */
const claude = {
  mediaTypes: commonTypes,
  maxCharacters: 5 * MiB,
  maxSide: 8_000,
  many: { above: 20, maxSide: 2_000 },
};

type LimitRow = { readonly appliesTo: (model: ModelIdentity) => boolean; readonly limits: PictureLimits };

/** The first row that applies is used. */
const limitTable: readonly LimitRow[] = [
  {
    appliesTo: ({ provider, modelId }) => /claude/i.test(modelId) && /bedrock|vertex/.test(provider),
    limits: { ...claude, provider: "Claude on this platform", maxPictures: 100, maxTotal: 15 * MiB },
  },
  {
    appliesTo: ({ provider, modelId }) => /(^|\.)anthropic\b/.test(provider) || /claude/i.test(modelId),
    limits: { ...claude, provider: "Anthropic", maxPictures: 100, maxTotal: 28 * MiB },
  },
  {
    // https://platform.openai.com/docs/guides/images-vision: 500 pictures and 50 MB of them in a request.
    appliesTo: ({ provider }) => /^(openai|azure|azure-openai)\b/.test(provider) && !/compatible/.test(provider),
    limits: { provider: "OpenAI", mediaTypes: commonTypes, maxPictures: 500, maxTotal: 50_000_000 },
  },
  {
    // https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/image-understanding: 7 MB inline.
    appliesTo: ({ provider }) => /^google\.vertex/.test(provider),
    limits: {
      provider: "Vertex AI",
      mediaTypes: googleTypes,
      maxCharacters: 7_000_000,
      maxPictures: 3_000,
      maxTotal: 19_000_000,
    },
  },
  {
    // https://ai.google.dev/gemini-api/docs/image-understanding: 20 MB inline in a request, 3,600 pictures.
    appliesTo: ({ provider }) => /^google\b/.test(provider),
    limits: { provider: "Gemini", mediaTypes: googleTypes, maxPictures: 3_600, maxTotal: 19_000_000 },
  },
];

/** Tokens. Claude models with a larger window accept more pictures. */
const smallWindow = 200_000;

/** @param contextWindow tokens, if known */
export function findPictureLimits(model: ModelIdentity, contextWindow?: number): PictureLimits | null {
  const limits = limitTable.find(({ appliesTo }) => appliesTo(model))?.limits ?? null;
  return limits?.provider === "Anthropic" && contextWindow !== undefined && contextWindow > smallWindow
    ? { ...limits, maxPictures: 600 }
    : limits;
}

export type { PictureLimits };

/** A picture in a request, with its bytes. */
export type Picture = { readonly part: FilePart; readonly characters: number; readonly header: PictureHeader | null };

/** The pictures of a message in order, including those in tool results. */
export function listPictures({ parts }: Message): readonly Picture[] {
  const pictures: Picture[] = [];
  for (const part of parts) {
    if (part.type === "file") addPicture(part, pictures);
    else if (part.type === "tool_result" && part.output.type === "content")
      for (const inner of part.output.parts) if (inner.type === "file") addPicture(inner, pictures);
  }
  return pictures;
}

function addPicture(part: FilePart, pictures: Picture[]): void {
  const picture = toPicture(part);
  if (picture !== null) pictures.push(picture);
}

/** Null if the file is not a picture, or if only its URL is sent. */
function toPicture(part: FilePart): Picture | null {
  if (!part.mediaType.startsWith("image/") || /^[a-z]+:/i.test(part.data.slice(0, 10))) return null;
  return { part, characters: part.data.length, header: readPictureHeader(part.data) };
}

/** Why the provider refuses the file in any request; null if no reason is known. */
export function explainRefusal(part: FilePart, limits: PictureLimits): string | null {
  const picture = toPicture(part);
  return picture === null ? null : findPictureFault(picture, limits);
}

function findPictureFault({ part, characters, header }: Picture, limits: PictureLimits): string | null {
  const { provider, mediaTypes, maxCharacters = Number.POSITIVE_INFINITY, maxSide } = limits;
  const mediaType = header?.mediaType ?? part.mediaType;
  if (!mediaTypes.has(mediaType))
    return `${provider} does not accept ${mediaType}, only ${[...mediaTypes].map((type) => type.slice(6)).join(", ")}`;
  if (header === null && commonTypes.has(mediaType)) return `it is not a valid ${mediaType} file`;
  if (characters > maxCharacters)
    return `it has ${formatMegabytes(characters)} MB in base64, and ${provider} accepts at most ${formatMegabytes(maxCharacters)} MB`;
  const size = header?.size;
  return size !== undefined && maxSide !== undefined && Math.max(size.width, size.height) > maxSide
    ? `it has ${size.width} × ${size.height} pixels, and ${provider} accepts at most ${maxSide} × ${maxSide}`
    : null;
}

function formatMegabytes(count: number): string {
  return (count / 1_000_000).toFixed(1);
}

/** The pictures to omit, each with the reason. If a request has too many or too large pictures, the oldest are omitted. */
export function findRefusedPictures(
  pictures: readonly Picture[],
  limits: PictureLimits,
): ReadonlyMap<FilePart, string> {
  const refused = new Map<FilePart, string>();
  const accepted: Picture[] = [];
  for (const picture of pictures) {
    const fault = findPictureFault(picture, limits);
    if (fault === null) accepted.push(picture);
    else refused.set(picture.part, fault);
  }
  const { provider, many, maxPictures, maxTotal } = limits;
  let count = accepted.length;
  let total = accepted.reduce((sum, { characters }) => sum + characters, 0);
  const refuse = (picture: Picture, reason: string) => {
    if (refused.has(picture.part)) return;
    refused.set(picture.part, reason);
    count -= 1;
    total -= picture.characters;
  };
  for (const picture of accepted) {
    if (many === undefined || count <= many.above) break;
    const { width, height } = picture.header?.size ?? { width: 0, height: 0 };
    if (Math.max(width, height) > many.maxSide)
      refuse(
        picture,
        `it has ${width} × ${height} pixels, and in a request with more than ${many.above} pictures ${provider} accepts at most ${many.maxSide} × ${many.maxSide}`,
      );
  }
  for (const picture of accepted) {
    if (count > maxPictures) refuse(picture, `${provider} accepts at most ${maxPictures} pictures in a request`);
    else if (total > maxTotal)
      refuse(picture, `${provider} accepts at most ${formatMegabytes(maxTotal)} MB of pictures in a request`);
    else break;
  }
  return refused;
}

/** Replaces each refused picture in the message with a note. */
export function replacePictures(message: Message, refused: ReadonlyMap<FilePart, string>): Message {
  const textFor = (part: FilePart) => ({
    type: "text" as const,
    text: `[${formatOmission(part, refused.get(part) ?? "")}]`,
  });
  const parts = message.parts.map((part) => {
    if (part.type === "file") return refused.has(part) ? textFor(part) : part;
    if (part.type !== "tool_result" || part.output.type !== "content") return part;
    const inner = part.output.parts.map((one) => (one.type === "file" && refused.has(one) ? textFor(one) : one));
    return { ...part, output: { ...part.output, parts: inner } };
  });
  return { ...message, parts } as Message;
}

/** A note for the model, and the text of a warning. */
export function formatOmission({ filename, mediaType }: FilePart, reason: string): string {
  return `The picture ${filename ?? `(${mediaType})`} was left out: ${reason}.`;
}

/** One warning for each reason. It names only the first picture, so it stays the same when more are omitted. */
export function formatWarnings(refused: ReadonlyMap<FilePart, string>): readonly string[] {
  const byReason = new Map<string, FilePart[]>();
  for (const [part, reason] of refused) byReason.set(reason, [...(byReason.get(reason) ?? []), part].slice(0, 2));
  return [...byReason].flatMap(([reason, [first, second]]) => {
    if (first === undefined) return [];
    if (second === undefined) return [formatOmission(first, reason)];
    return [`Several pictures were left out, ${first.filename ?? `one of ${first.mediaType}`} first: ${reason}.`];
  });
}

/** The media type that the bytes have, which may differ from the declared one. */
export function detectMediaType(part: FilePart): string {
  return toPicture(part)?.header?.mediaType ?? part.mediaType;
}
