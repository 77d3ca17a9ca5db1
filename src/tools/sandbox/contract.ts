/**
 * What a sandbox of commands offers: to tools that start commands, and to programs that configure it.
 */
import type { HostTarget } from "./hosts.js";
import type { Refusal, RefusalReason } from "./proxy.js";

/** Where commands run. */
export type Sandbox = "bubblewrap" | "none";

/** Options of `createSandbox`. */
export type SandboxOptions = {
  /** The folder of the commands. They can write it. */
  readonly root: string;
  /** `auto`: commands run without a sandbox if there is none here. `required`: `createSandbox` throws then. Default: `auto`. */
  readonly mode?: "auto" | "required";
  /**
   * The hosts that every command may reach: `api.example.org`, `*.example.org`, `db.example.org:5432`, or a preset such as `npm`.
   * Without a port, ports 80 and 443. Default: none.
   */
  readonly hosts?: readonly string[];
  /** Private addresses and ranges that these hosts may lead to, such as `10.1.0.0/16`. Default: none. */
  readonly addresses?: readonly string[];
  /** Files and folders that commands can read although they are outside of `root`. Default: the tools of `PATH` alone. */
  readonly show?: readonly string[];
  /** Folders outside of `root` that commands can write. Default: none. */
  readonly write?: readonly string[];
  /** Files and folders in what commands see that are hidden from them; asked for before each command. Default: none. */
  readonly hide?: () => readonly string[];
};

/** A host that a command wants to connect to. */
export type { HostTarget, Refusal, RefusalReason };

/** What a command in the sandbox may do beyond the sandbox's own options, and who is told when it must stop. */
export type PrepareOptions = {
  /** Further hosts, for this command alone. */
  readonly hosts?: readonly string[];
  /** Decides about a host before the lists do; undefined leaves it to them. Asked for each connection. */
  readonly decideHost?: (target: HostTarget) => "allow" | "deny" | undefined;
  /** Called if the command has done what it is stopped for. */
  readonly onForbidden?: () => void;
};

/** A command that is ready to be started. */
export type PreparedCommand = {
  readonly program: readonly [string, ...string[]];
  /** The environment of the command, made of the one that it would have without a sandbox. */
  readonly environment: (base: Readonly<Record<string, string>>) => Readonly<Record<string, string>>;
  /** What the program reads from its file descriptor 3; null if it reads nothing. */
  readonly filter: Uint8Array | null;
  /** What is to be told of the command so far. */
  readonly report: () => CommandReport;
  /** Ends what belongs to the command. Call it once, when the command has ended, and before its last report. */
  readonly end: () => void;
};

/** What is to be told of a command. */
export type CommandReport = {
  /** The hosts that the sandbox has refused. */
  readonly refusals: readonly Refusal[];
  /** What the command has done to files that other programs run, each as part of a sentence. */
  readonly notes: readonly string[];
};

/** A sandbox that is shared by the commands of a folder: they have one home, one `/tmp` and one network. */
export type CommandSandbox = {
  /** `none`: commands run without a sandbox, and `reason` says why. */
  readonly kind: Sandbox;
  /** Why there is no sandbox, as part of a sentence; null if there is one. */
  readonly reason: string | null;
  /** What a person can do about it: a sentence, or empty. */
  readonly advice: string;
  /** The hosts that every command may reach, as they were given. */
  readonly hosts: readonly string[];
  /** The sandbox in the words of `pawl doctor`. */
  readonly describe: () => string;
  /** Prepares a command. @throws Error if the sandbox cannot be started */
  readonly prepare: (command: readonly [string, ...string[]], options?: PrepareOptions) => Promise<PreparedCommand>;
  /** Ends the network and `/tmp` of the commands. Without it, they end with this process. */
  readonly close: () => Promise<void>;
};
