/**
 * The file format of a recording: one JSON line for each attempt of a model call.
 *
 * 1. A line is written whole, after its attempt has ended. If the file is cut off, only the unfinished last line is lost.
 * 2. The hash of a request covers everything that is sent to the model. It does not cover the session, run, step and attempt.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { canonicalJson, parseJson } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { ModelRequest, RecordedAttempt, RequestIdentity } from "../../ports/model.js";

const lineVersion = 1;

/** The part of a request that is sent to the model: without its session, run, step, attempt and purpose. */
export type RecordedRequest = Omit<ModelRequest, keyof RequestIdentity | "purpose">;

export function withoutIdentity(request: ModelRequest): RecordedRequest {
  const { sessionId: _, runId: __, modelCallIndex: ___, attempt: ____, purpose: _____, ...recorded } = request;
  return recorded;
}

/** SHA-256, independent of the order of keys. */
export function hashRequest(request: ModelRequest): string {
  // A round trip through JSON drops undefined members.
  const plain = JSON.parse(JSON.stringify(withoutIdentity(request))) as Json;
  return createHash("sha256").update(canonicalJson(plain)).digest("hex");
}

/** One line, including its newline. */
export function encodeAttempt({ model, request, deltas }: RecordedAttempt, hash: string, at: number): string {
  return `${JSON.stringify({ v: lineVersion, hash, model, at, request, deltas })}\n`;
}

/**
 * Reads the attempts of a recording, in the order in which they ended.
 * @throws PawlError `bad_input` if the recording is invalid
 */
export function readRecording(path: string): readonly RecordedAttempt[] {
  const lines = readRecordingText(path).split("\n");
  // The last item is empty, or a line that was never finished.
  return lines.slice(0, -1).map((line, index) => decodeAttempt(line, `line ${index + 1} of ${path}`));
}

function readRecordingText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new PawlError("bad_input", `The recording ${path} cannot be read. Create one with recordModel.`, { cause });
  }
}

const maxLineBytes = 256 * 1024 * 1024;

function decodeAttempt(line: string, where: string): RecordedAttempt {
  const parsed = parseJson(line, { maxBytes: maxLineBytes });
  if (!parsed.ok) throw invalidAttemptError(where, `its JSON cannot be read (${parsed.error})`);
  const { v, model, request, deltas } = asObject(parsed.value);
  if (v !== lineVersion)
    throw invalidAttemptError(where, `its format is ${JSON.stringify(v ?? null)}, not ${lineVersion}`);
  const { messages, tools, attempt } = asObject(request);
  if (typeof model !== "string" || !Array.isArray(messages) || !Array.isArray(tools) || typeof attempt !== "number")
    throw invalidAttemptError(where, "its request is incomplete");
  if (!Array.isArray(deltas) || !deltas.every((delta) => typeof asObject(delta).kind === "string"))
    throw invalidAttemptError(where, "it has no valid deltas");
  return { model, request: request as ModelRequest, isWhole: true, deltas: deltas as RecordedAttempt["deltas"] };
}

function asObject(value: unknown): { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null ? (value as { readonly [key: string]: unknown }) : {};
}

function invalidAttemptError(where: string, reason: string): PawlError {
  return new PawlError("bad_input", `Invalid attempt in ${where} of the recording: ${reason}. Record it again.`);
}
