/**
 * Reads what is piped to a command whose task is in its arguments: `git diff | pawl run "Review this"`.
 *
 * 1. The program that starts pawl may leave the pipe open and never write to it, so the wait for the first byte is bounded.
 * 2. The input is bounded.
 */
export type PipedInput =
  | { readonly type: "none" }
  | { readonly type: "text"; readonly text: string; readonly isCut: boolean }
  /** Nothing is added to the task, and the person sees why. */
  | { readonly type: "refused"; readonly why: string };

/** How long to wait for the first byte; milliseconds. */
const firstByteMs = 3_000;
/** The maximum size of the input; bytes. */
const maxBytes = 600_000;

export async function readPipedInput(stdin: NodeJS.ReadStream = process.stdin): Promise<PipedInput> {
  if (stdin.isTTY === true) return { type: "none" };
  const chunks: Buffer[] = [];
  let size = 0;
  const ending = await new Promise<"whole" | "cut" | "silent">((resolve) => {
    const timer = setTimeout(() => resolve("silent"), firstByteMs);
    stdin.on("data", (chunk: Buffer) => {
      clearTimeout(timer);
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) resolve("cut");
    });
    const end = () => {
      clearTimeout(timer);
      resolve("whole");
    };
    stdin.once("end", end).once("error", end);
  });
  stdin.removeAllListeners("data").pause();
  if (ending === "silent")
    return { type: "refused", why: `nothing arrived within ${firstByteMs / 1_000} s. To pipe nothing: < /dev/null` };
  const text = decodeText(Buffer.concat(chunks).subarray(0, maxBytes));
  if (text === null) return { type: "refused", why: "it is not text" };
  return text.trim() === "" ? { type: "none" } : { type: "text", text, isCut: ending === "cut" };
}

/** The text; null if the bytes are not text. A truncated character at the end is dropped. */
function decodeText(bytes: Buffer): string | null {
  try {
    return bytes.includes(0) ? null : new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return null;
  }
}
