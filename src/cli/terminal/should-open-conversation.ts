/**
 * Whether a command line certainly begins a conversation on a live screen, so that its prompt can be shown before the program is
 * loaded. If in doubt, it does not: the prompt then appears a little later.
 */
import type { ReadStream, WriteStream } from "node:tty";

/** The options of a conversation, and whether each takes a value. Options that change the screen are not listed. */
export const quickOptions: { readonly [option: string]: boolean | undefined } = {
  "--continue": false,
  "--yes": false,
  "-y": false,
  "--allow-shell": false,
  "--no-context-files": false,
  "--no-hooks": false,
  "--debug": false,
  "--no-screen-reader": false,
  "--model": true,
  "--root": true,
  "--session": true,
  "--store": true,
  "--timeout": true,
  "--context-window": true,
  "--expire-after": true,
};

/** The minimum size of a terminal for the live screen. */
const minScreen = { columns: 20, rows: 6 } as const;

export type Streams = {
  readonly input: Pick<ReadStream, "isTTY">;
  readonly output: Pick<WriteStream, "isTTY" | "columns" | "rows">;
};

/** Whether a terminal can have a live screen. */
export function hasLiveScreen(
  { output: { columns, rows } }: Pick<Streams, "output">,
  { TERM }: { readonly [name: string]: string | undefined },
): boolean {
  // A terminal that does not know its size reports 0.
  return TERM !== "dumb" && (columns === 0 || (columns >= minScreen.columns && rows >= minScreen.rows));
}

/**
 * @param args the arguments after `pawl`
 * @param display the settings in the person's own file; null if the file is invalid
 */
export function shouldOpenConversation(
  args: readonly string[],
  streams: Streams,
  environment: { readonly [name: string]: string | undefined },
  display: { readonly screenReader: boolean } | null,
): boolean {
  if (display === null || (display.screenReader && !args.includes("--no-screen-reader"))) return false;
  if (streams.input.isTTY !== true || streams.output.isTTY !== true) return false;
  if (!hasLiveScreen(streams, environment)) return false;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    // A single word may be a command.
    if (!arg.startsWith("-")) return /\s/.test(arg);
    const [name = "", value] = arg.split("=", 2);
    const takesValue = Object.hasOwn(quickOptions, name) ? quickOptions[name] : undefined;
    if (takesValue === undefined || (value !== undefined && !takesValue)) return false;
    if (takesValue && value === undefined) at += 1;
    if (at >= args.length) return false;
  }
  return true;
}
