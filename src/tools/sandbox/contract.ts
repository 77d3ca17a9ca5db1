/**
 * The types of a sandbox, for programs that create one and for tools that run commands in it, and its reasons as text.
 */
import type { HostTarget } from "./hosts.js";

/** The kind of sandbox that commands run in. */
export type Sandbox = "bubblewrap" | "none";

/** Options of `createSandbox`. */
export type SandboxOptions = {
  /** The folder in which commands work, and which they can write. */
  readonly root: string;
  /** `auto`: commands run without a sandbox if none is available. `required`: `createSandbox` throws in that case. Default: `auto`. */
  readonly mode?: "auto" | "required";
  /**
   * The hosts that every command may reach: `api.example.org`, `*.example.org`, `db.example.org:5432`, or a preset such as `npm`. A
   * host without a port allows ports 80 and 443. Default: none.
   */
  readonly hosts?: readonly string[];
  /** Private addresses and ranges that hosts may resolve to, such as `10.1.0.0/16`. Default: none. */
  readonly addresses?: readonly string[];
  /** Files and folders outside of `root` that commands can read, in addition to the tools of `PATH`. Default: none. */
  readonly show?: readonly string[];
  /** Folders outside of `root` that commands can write. Default: none. */
  readonly write?: readonly string[];
  /**
   * The name of the commands' home. Sandboxes of the same folder share a home unless they set different names: a program with
   * secrets in its environment should have its own home. Default: the home of the folder's commands.
   */
  readonly homeName?: string;
  /** Returns files and folders to hide from commands. Called before each command, with its signal. Default: none. */
  readonly hide?: (signal?: AbortSignal) => readonly string[] | Promise<readonly string[]>;
};

/** A host that a command wants to connect to. */
export type { HostTarget };

/** A refused host, with its port. */
export type Refusal = {
  /** The host with its port. */
  readonly host: string;
  /** `unlisted`: not in the lists. `unknown`: the name does not resolve. `private`: it resolves to a private address. */
  readonly why: RefusalReason;
};

/** Why a host was refused. */
export type RefusalReason = "unlisted" | "unknown" | "private";

/** The reasons as text, each of which completes a sentence. */
export const refusalReasons: { readonly [Reason in RefusalReason]: string } = {
  unlisted: "it is not in the list of hosts",
  unknown: "there is no such host",
  private: "it resolves to a private address",
};

/** The additional permissions of a single command, beyond the options of its sandbox. */
export type PrepareOptions = {
  /** Additional hosts, for this command only. */
  readonly hosts?: readonly string[];
  /** Decides about a host; undefined leaves it to the lists of hosts. Called for each connection. */
  readonly decideHost?: (target: HostTarget) => "allow" | "deny" | undefined;
  /** Whether `root` and the `write` folders are read-only for the command. Its own home and `/tmp` stay writable. Default: false. */
  readonly readOnly?: boolean;
  /** Called when the command has done something for which the caller must stop it. */
  readonly onForbidden?: () => void;
  /** Stops the preparation, which examines the folder. */
  readonly signal?: AbortSignal;
};

/** A command that is ready to be started. */
export type PreparedCommand = {
  /** The program to start, with its arguments. */
  readonly program: readonly [string, ...string[]];
  /** Creates the environment of the command from the one that it would have without a sandbox. */
  readonly environment: (base: Readonly<Record<string, string>>) => Readonly<Record<string, string>>;
  /** The bytes that the program must read from its file descriptor 3; null if there are none. */
  readonly filter: Uint8Array | null;
  /** Reports what the command has been refused and what it has changed so far. */
  readonly report: () => CommandReport;
  /** Releases the resources of the command. Call it once, after the command has ended, and await it before the last report. */
  readonly end: () => Promise<void>;
};

/** The hosts that a command was refused, and its notable changes. */
export type CommandReport = {
  /** The hosts that the sandbox has refused. */
  readonly refusals: readonly Refusal[];
  /** Changes to files that other programs run later, each as part of a sentence. */
  readonly notes: readonly string[];
};

/** A sandbox for the commands of a folder, which share a home, `/tmp` and a network. */
export type CommandSandbox = {
  /** `none`: commands run without a sandbox, and `reason` says why. */
  readonly kind: Sandbox;
  /** Why there is no sandbox, as part of a sentence; null if there is one, or if it is switched off. */
  readonly reason: string | null;
  /** What a person can do about a missing sandbox, in a sentence; may be empty. */
  readonly advice: string;
  /** The hosts that every command may reach, as originally given. */
  readonly hosts: readonly string[];
  /** Describes the sandbox, one fact per line. The first line names the programs that it uses. */
  readonly describe: () => readonly string[];
  /** Prepares a command. @throws Error if the sandbox cannot be started */
  readonly prepare: (command: readonly [string, ...string[]], options?: PrepareOptions) => Promise<PreparedCommand>;
  /** Removes the network and `/tmp` of the commands. Otherwise, both last as long as this process. */
  readonly close: () => Promise<void>;
};
