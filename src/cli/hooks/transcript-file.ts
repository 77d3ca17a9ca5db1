/**
 * The conversation as a file, for hooks: each line is a message as Claude Code writes it. The file is created when a command starts and
 * removed when the command has ended.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { textOfOutput } from "../../core/index.js";
import { createClient, type Json, type Message, PawlError, type Store } from "../../index.js";
import { listToolNames, toScriptInput } from "./tool-names.js";

export type TranscriptDeps = { readonly store: Store; readonly root: string };

/** @param use gets the path of the file, which only the person can read */
export async function withTranscript<Result>(
  sessionId: string,
  { store, root }: TranscriptDeps,
  use: (path: string) => Promise<Result>,
): Promise<Result> {
  const messages = await loadMessages(store, sessionId);
  const folder = mkdtempSync(join(tmpdir(), "pawl-transcript-"));
  try {
    const path = join(folder, "transcript.jsonl");
    const lines = messages.map((message) => `${JSON.stringify(toLine(message, sessionId, root))}\n`);
    writeFileSync(path, lines.join(""), { mode: 0o600 });
    return await use(path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Empty for a session that has not started. */
async function loadMessages(store: Store, sessionId: string): Promise<readonly Message[]> {
  try {
    return await createClient({ store }).session(sessionId).messages();
  } catch (error) {
    if (error instanceof PawlError && error.code === "no_session") return [];
    throw error;
  }
}

function toLine(message: Message, sessionId: string, root: string): Json {
  // In that format, tool results are in messages of the user.
  const role = message.role === "assistant" ? "assistant" : "user";
  const content = message.parts.flatMap((part) => toContent(part, root));
  return { type: role, sessionId, cwd: root, message: { role, content } };
}

function toContent(part: Message["parts"][number], root: string): readonly Json[] {
  switch (part.type) {
    case "text":
      return [{ type: "text", text: part.text }];
    case "reasoning":
      return [{ type: "thinking", thinking: part.text }];
    case "tool_call": {
      const [name = part.name] = listToolNames(part.name);
      return [{ type: "tool_use", id: part.toolCallId, name, input: toScriptInput(part.name, part.input, root) }];
    }
    case "tool_result": {
      const isError = part.isError === true ? { is_error: true } : {};
      return [{ type: "tool_result", tool_use_id: part.toolCallId, content: textOfOutput(part.output), ...isError }];
    }
    default:
      return [];
  }
}
