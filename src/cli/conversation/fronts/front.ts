/**
 * The front end of a conversation on the terminal: the live screen, or the plain front that only appends.
 */
import type { CustomCommand } from "../../configuration/resolve-commands.js";
import type { ServerPrompt } from "../../mcp/list-content.js";
import type { TypedArgument } from "../../mcp/typed-argument.js";
import type { Choice } from "../../screen/picker.js";
import type { RuleActions } from "../rule-actions.js";
import type { SessionControl } from "../session-control.js";

/** How a person leaves: at rest, by stopping the run, or by leaving the run or a question for later. */
export type LeaveMode = "rest" | "stop" | "leave";

/** A session that is open in the conversation. */
export type Talk = {
  readonly control: SessionControl;
  /** The initial draft. */
  readonly draft?: string;
  /** Commands from files. */
  readonly custom: readonly CustomCommand[];
  /**
   * Runs a command of the conversation. Returns null, or a promise if later lines must wait: it resolves to `stays` if the person
   * stays with this session, and to `leads_on` if another talk follows.
   */
  readonly command: (line: string) => Promise<"stays" | "leads_on"> | null;
  /** Runs the person's own command line in the folder. */
  readonly runOwn: (commandLine: string) => void;
  /** Stops the person's own command line. @returns whether one was running */
  readonly stopOwn: () => boolean;
  /** The number of the session's commands that run in the background. */
  readonly countProcesses: () => number;
  /** The names of the files in the folder. */
  readonly fileNames: () => Promise<readonly string[]>;
  /** The resources of the MCP servers and their templates, as messages mention them. */
  readonly resourceNames: () => Promise<readonly string[]>;
  /** The prompts of the MCP servers. */
  readonly prompts: () => Promise<readonly ServerPrompt[]>;
  /** The values that an MCP server suggests for an argument. */
  readonly argumentValues: (typed: TypedArgument) => Promise<readonly string[]>;
  readonly quit: (how: LeaveMode) => void;
  /** Whether the terminal's bell rings when a call waits for the person. */
  readonly rings: boolean;
  /** Whether the desktop shows that a call waits or that long work has ended, while the window has no focus. */
  readonly notifies: boolean;
  readonly rules: RuleActions;
};

export type Front = {
  readonly columns: () => number;
  /** Called after each change of the view of the session. */
  readonly changed: () => void;
  readonly talk: (talk: Talk) => void;
  /** Adds a message to those that the person can recall. */
  readonly remember: (message: string) => void;
  /** Shows `waitText` until a talk begins. With `skip`, Esc and Ctrl-C continue without waiting. */
  readonly wait: (waitText: string, skip?: () => void) => void;
  /** Shows `waitText` until the front is closed. From now on, nothing that the person types has an effect. */
  readonly leave: (waitText: string) => void;
  readonly choose: (title: string, choices: readonly Choice[]) => Promise<string | null>;
  /** Shows text in the person's pager until they leave it. @returns false if there is no pager */
  readonly page: (text: string) => Promise<boolean>;
  /** Copies text to the clipboard. */
  readonly copy: (text: string) => void;
  /** Restores the terminal. Everything that was shown stays in its history. */
  readonly close: () => void;
};

/** How long keys are ignored after a question is on the screen, because the person may be typing something else; milliseconds. */
export const answerDelayMs = 400;
/** The time within which a second Ctrl-C or Esc counts as a double press; milliseconds. */
export const doublePressMs = 2_000;

/** The terminal's bell. The person configures whether it is a sound, a flash or a mark on the window. */
export const bell = "\x07";

/** Whether a line is a message, and not a command or a shell command. */
export function isMessage(line: string): boolean {
  return !/^(?:!|\/(?!\/))/.test(line);
}

/** Dispatches a line: to a command, a shell command, or the model. @returns the result of `command`; otherwise null */
export function dispatchLine({ control, command, runOwn }: Talk, text: string): ReturnType<Talk["command"]> {
  if (isMessage(text)) control.send(text.replace(/^\/\//, "/"));
  else if (text.startsWith("!")) runOwn(text.slice(1).trim());
  else return command(text);
  return null;
}
