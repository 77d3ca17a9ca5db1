/**
 * What a conversation needs of its place on the terminal: the live screen, or the plain one that only appends.
 */
import type { CustomCommand } from "../../configuration/resolve-commands.js";
import type { Choice } from "../../screen/picker.js";
import type { RuleActions } from "../rule-actions.js";
import type { SessionControl } from "../session-control.js";

/** How a person leaves: at rest; with the run stopped; with the run or a question left for later. */
export type LeaveMode = "rest" | "stop" | "leave";

/** A session that the person talks with. */
export type Talk = {
  readonly control: SessionControl;
  /** The beginning of the first message. */
  readonly draft?: string;
  /** Texts of files that the person sends by their names. */
  readonly custom: readonly CustomCommand[];
  /**
   * Runs a line that begins with a slash: a command of the conversation. Null, or what comes of it, if the lines behind it are to wait:
   * the person stays with this session, or another talk follows.
   */
  readonly command: (line: string) => Promise<"stays" | "leads_on"> | null;
  /** Runs a command line of the person in the folder. */
  readonly runOwn: (commandLine: string) => void;
  /** Stops a command line of the person. @returns whether one was running */
  readonly stopOwn: () => boolean;
  /** The names of the files in the folder. */
  readonly fileNames: () => Promise<readonly string[]>;
  readonly quit: (how: LeaveMode) => void;
  /** Whether the terminal's bell rings when a call waits for the person. */
  readonly rings: boolean;
  readonly rules: RuleActions;
};

export type Front = {
  readonly columns: () => number;
  /** Called after each change of the view of the session. */
  readonly changed: () => void;
  readonly talk: (talk: Talk) => void;
  /** For the moment there is no session to talk with, and `notice` says why. With `skip`, Esc and Ctrl-C go on without what is waited for. */
  readonly wait: (notice: string, skip?: () => void) => void;
  readonly choose: (title: string, choices: readonly Choice[]) => Promise<string | null>;
  /** Shows a text in the person's pager until they leave it. @returns false if there is no pager */
  readonly page: (text: string) => Promise<boolean>;
  /** Asks the terminal to put a text into its clipboard. */
  readonly copy: (text: string) => void;
  /** Gives the terminal back. Everything that was shown stays in its history. */
  readonly close: () => void;
};

/** Milliseconds after a question appeared in which no key answers it: who was typing did not mean the question. */
export const answerDelayMs = 400;
/** Milliseconds within which a second Ctrl-C or Esc counts as meant. */
export const doublePressMs = 2_000;

/** What a terminal does with it is the person's choice: a sound, a flash, a mark on the window. */
export const bell = "\x07";

/** Neither a command nor a command line of the person. */
export function isMessage(line: string): boolean {
  return !/^(?:!|\/(?!\/))/.test(line);
}

/** What a line means that was sent: a command, a command line of the person, or a message. @returns what `command` does */
export function dispatchLine({ control, command, runOwn }: Talk, text: string): ReturnType<Talk["command"]> {
  if (isMessage(text)) control.send(text.replace(/^\/\//, "/"));
  else if (text.startsWith("!")) runOwn(text.slice(1).trim());
  else return command(text);
  return null;
}
