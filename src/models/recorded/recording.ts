/**
 * A recording: the attempts of model calls in a file, one JSON line each.
 *
 * 1. A line is written when its attempt has ended, whole; a file that was cut off loses its last, unfinished line only.
 * 2. A request's hash is that of all that a model is asked, not of where it belongs: session, run, step and attempt.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { canonicalJson, parseJson } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { ModelRequest, RecordedAttempt, RequestIdentity } from "../../ports/model.js";

/** The version of a line's format. */
const lineVersion = 1;

/** What a model is asked, without where it belongs. */
export type RecordedRequest = Omit<ModelRequest, keyof RequestIdentity>;

export function askedIn(request: ModelRequest): RecordedRequest {
  const { sessionId: _, runId: __, modelCallIndex: ___, attempt: ____, ...asked } = request;
  return asked;
}

/** SHA-256 of what is asked, whatever the order of its keys. */
export function hashOf(request: ModelRequest): string {
  // What is undefined is as good as absent.
  const plain = JSON.parse(JSON.stringify(askedIn(request))) as Json;
  return createHash("sha256").update(canonicalJson(plain)).digest("hex");
}

/** One line, its newline included. */
export function encodeAttempt({ model, request, deltas }: RecordedAttempt, hash: string, at: number): string {
  return `${JSON.stringify({ v: lineVersion, hash, model, at, request, deltas })}\n`;
}

/** The attempts of a recording, in the order in which they ended. @throws PawlError `bad_input` where it cannot be read */
export function readRecording(path: string): readonly RecordedAttempt[] {
  const lines = textOf(path).split("\n");
  // What follows the last newline was never finished.
  return lines.slice(0, -1).map((line, index) => decodeAttempt(line, `line ${index + 1} of ${path}`));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new PawlError("bad_input", `The recording ${path} cannot be read. Make one with recordModel.`, { cause });
  }
}

const mostLineBytes = 256 * 1024 * 1024;

function decodeAttempt(line: string, where: string): RecordedAttempt {
  const parsed = parseJson(line, { maxBytes: mostLineBytes });
  if (!parsed.ok) throw notAttempt(where, `its JSON is ${parsed.error}`);
  const { v, model, request, deltas } = objectIn(parsed.value);
  if (v !== lineVersion) throw notAttempt(where, `its format is ${JSON.stringify(v ?? null)}, not ${lineVersion}`);
  const { messages, tools, attempt } = objectIn(request);
  if (typeof model !== "string" || !Array.isArray(messages) || !Array.isArray(tools) || typeof attempt !== "number")
    throw notAttempt(where, "it has no whole request");
  if (!Array.isArray(deltas) || !deltas.every((delta) => typeof objectIn(delta).kind === "string"))
    throw notAttempt(where, "it has no deltas");
  return { model, request: request as ModelRequest, isWhole: true, deltas: deltas as RecordedAttempt["deltas"] };
}

function objectIn(value: unknown): { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null ? (value as { readonly [key: string]: unknown }) : {};
}

function notAttempt(where: string, why: string): PawlError {
  return new PawlError("bad_input", `In ${where} there is no recorded attempt: ${why}. Record it again.`);
}
