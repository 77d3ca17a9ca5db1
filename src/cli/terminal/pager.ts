/**
 * Shows text in the person's pager, and copies text to the clipboard. Both use separate programs that do not block: runs continue
 * meanwhile.
 */
import { spawn } from "node:child_process";
import type { Environment } from "../files/store-location.js";

/** The exit code of a shell that cannot find the program. */
const notFoundExitCode = 127;

/** Shows text until the person leaves the pager. @returns false if there is no pager */
export function showInPager(text: string, { PAGER }: Environment): Promise<boolean> {
  return new Promise((resolve) => {
    const pager = spawn(PAGER || "less", { shell: true, stdio: ["pipe", "inherit", "inherit"] });
    pager.on("error", () => resolve(false));
    pager.on("close", (code) => resolve(code !== notFoundExitCode));
    // The person may leave before the pager has read everything.
    pager.stdin.on("error", () => {});
    pager.stdin.end(text);
  });
}

/** The maximum size of a sequence that terminals accept; bytes. */
const maxForTerminal = 74_000;

/** The sequence that makes the terminal copy text to the clipboard (OSC 52); empty if the text is too long. */
export function createClipboardSequence(text: string): string {
  const encoded = Buffer.from(text).toString("base64");
  return encoded.length > maxForTerminal ? "" : `\x1b]52;c;${encoded}\x07`;
}

/** Copies text with the system's clipboard program, for terminals without OSC 52. */
export function copyToClipboard(text: string, environment: Environment): void {
  const command = findClipboardCommand(environment);
  if (command === null) return;
  const [program = "", ...args] = command;
  const child = spawn(program, args, { stdio: ["pipe", "ignore", "ignore"], detached: true });
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  child.stdin.end(text);
  child.unref();
}

function findClipboardCommand({ WAYLAND_DISPLAY, DISPLAY }: Environment): readonly string[] | null {
  if (process.platform === "darwin") return ["pbcopy"];
  if (process.platform === "win32") return ["clip.exe"];
  if (WAYLAND_DISPLAY) return ["wl-copy"];
  return DISPLAY ? ["xclip", "-selection", "clipboard"] : null;
}
